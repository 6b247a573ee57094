#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How a process of a run starts in a pod:
#   gandem_pod coordinator COMMAND...
#   gandem_pod worker RUN_DIR COMMAND...
# A worker waits for its coordinator's token; it leaves TERM to the coordinator,
# who ends the run with a checkpoint, and to the process that takes its place. Exit code 2: the coordinator answers, and what it writes into
# the run folder is not seen here. Exit code 0 of a worker without a coordinator: the run is
# over, so that its Job is, too.
set -eu
wait_seconds=${GANDEM_WAIT_SECONDS:-900}
# A network's file system may show a new file so much later.
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

# Whether somebody listens where the coordinator should. Debian has no smaller
# program that connects.
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
  # A folder that is opened is asked for anew.
  ls "$run_dir/state" >/dev/null 2>&1 || :
  [ $((waited % 30)) -ne 0 ] || echo "gandem_pod: waiting for a coordinator in $run_dir" >&2
  sleep 1
  waited=$((waited + 1))
done
trap '' TERM
trap - INT
exec "$@"
