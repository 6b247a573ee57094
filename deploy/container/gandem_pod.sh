#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts a process of a run in a pod:
#   gandem_pod coordinator COMMAND...
#   gandem_pod worker RUN_DIR COMMAND...
# A worker waits for the coordinator's token and address, and exits with
#   0  if no coordinator starts in time: the run is over, and so is the Job
#   2  if the coordinator answers, but its files are missing in RUN_DIR
# The worker starts with SIGTERM ignored, because the coordinator ends the run
# with a checkpoint and stops its workers.
set -eu
wait_seconds=${GANDEM_WAIT_SECONDS:-900}
# Time after which a network file system shows new files.
shared_seconds=${GANDEM_SHARED_SECONDS:-10}

kind=${1:-}
[ $# -eq 0 ] || shift
case $kind in
coordinator) exec "$@" ;;
worker) ;;
*)
  echo "gandem_pod: '$kind' is neither coordinator nor worker" >&2
  exit 2
  ;;
esac

run_dir=$1
shift
control=
previous=
for word in "$@"; do
  [ "$previous" != --control ] || control=$word
  previous=$word
done

# Returns whether a process listens at the coordinator's address. The image has no
# simpler program than bash to connect.
coordinator_answers() {
  [ -n "$control" ] && timeout 2 bash -c ': < "/dev/tcp/$0/$1"' \
    "${control%:*}" "${control##*:}" 2>/dev/null
}

trap 'exit 75' TERM INT
waited=0
answered=0
until [ -s "$run_dir/state/control.addr" ] && [ -s "$run_dir/state/token" ]; do
  if [ "$waited" -ge "$wait_seconds" ]; then
    echo "gandem_pod: no coordinator in $run_dir for $wait_seconds s: the run is over" >&2
    exit 0
  fi
  if coordinator_answers; then answered=$((answered + 1)); else answered=0; fi
  if [ "$answered" -gt "$shared_seconds" ]; then
    echo "gandem_pod: the coordinator at $control answers, but the token and address that it has written are not in $run_dir/state on this node: the run folder is not shared. All pods need one volume: a claim that is ReadWriteMany and leads to the same file system from every node" >&2
    exit 2
  fi
  # Makes a network file system refresh its view of the folder.
  ls "$run_dir/state" >/dev/null 2>&1 || :
  [ $((waited % 30)) -ne 0 ] || echo "gandem_pod: waiting for a coordinator in $run_dir" >&2
  sleep 1
  waited=$((waited + 1))
done
trap '' TERM
trap - INT
exec "$@"
