#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How a process of a run starts in a pod:
#   gandem_pod coordinator COMMAND...
#   gandem_pod worker RUN_DIR COMMAND...
# Certificates of a Secret become files that only their owner can read, as
# gandem demands. A worker waits for its coordinator's token; it leaves TERM to
# the coordinator, who ends the run with a checkpoint, and to the process that
# takes its place. Exit code 0 of a worker without a coordinator: the run is
# over, so that its Job is, too.
set -eu
# Where the manifests mount the Secret, and memory for its copy.
secret=${GANDEM_SECRET:-/secret}
certificates=${GANDEM_CERTIFICATES:-/certificates}
wait_seconds=${GANDEM_WAIT_SECONDS:-900}

if [ -d "$secret" ]; then
  cp -L "$secret"/* "$certificates"/
  chmod 600 "$certificates"/*
fi

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
trap 'exit 75' TERM INT
waited=0
until [ -s "$run_dir/state/control.addr" ] && [ -s "$run_dir/state/token" ]; do
  if [ "$waited" -ge "$wait_seconds" ]; then
    echo "gandem_pod: no coordinator in $run_dir for $wait_seconds s: the run is over" >&2
    exit 0
  fi
  [ $((waited % 30)) -ne 0 ] || echo "gandem_pod: waiting for a coordinator in $run_dir" >&2
  sleep 1
  waited=$((waited + 1))
done
trap '' TERM
trap - INT
exec "$@"
