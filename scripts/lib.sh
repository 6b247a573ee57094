# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions and variables of the other scripts: paths, output, long steps.

set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ -z ${XDG_CACHE_HOME:-} && -z ${HOME:-} ]]; then
  echo "error: neither XDG_CACHE_HOME nor HOME is set: nowhere to keep" \
       "LibTorch; set one of them" >&2
  exit 2
fi
cache_dir=${XDG_CACHE_HOME:-${HOME:-}/.cache}/gandem
# shellcheck disable=SC2034  # for the scripts that read this file
build_dir=${GANDEM_BUILD_DIR:-$source_dir/build}
export CCACHE_DIR=${CCACHE_DIR:-$cache_dir/ccache}

say() { printf '== %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Prints the newest line of text in the log of the current step.
last_line() {
  tail -c 1000 "$step_log" | tr '\r' '\n' | grep -v '^[[:space:]]*$' |
    tail -n 1 || true
}

# step TEXT COMMAND...: runs COMMAND with its output in a log, and shows the newest
# line. On failure, prints the end of the log. Sets step_log.
step() {
  local text=$1 start=$SECONDS shown=0 pid status=0
  shift
  mkdir -p "$cache_dir/logs" || die "cannot write to $cache_dir"
  step_log=$(mktemp "$cache_dir/logs/$(date +%Y%m%d-%H%M%S).XXXXXX")
  say "$text"
  # Starts a process group, so that Ctrl-C ends all processes of COMMAND.
  set -m
  "$@" >"$step_log" 2>&1 </dev/null &
  pid=$!
  set +m
  trap 'kill -TERM -- -'"$pid"' 2>/dev/null; wait '"$pid"' 2>/dev/null || true
        die "interrupted; run this again"' INT TERM HUP
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if [[ -t 1 ]]; then
      printf '\r\033[K   %d s  %.60s' $((SECONDS - start)) "$(last_line)"
    elif ((SECONDS - start >= shown + 15)); then
      shown=$((SECONDS - start))
      printf '   %d s  %.60s\n' "$shown" "$(last_line)"
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM HUP
  [[ ! -t 1 ]] || printf '\r\033[K'
  if ((status != 0)); then
    tail -n 15 "$step_log" | sed 's/^/   | /' >&2
    echo "   (all of it: $step_log)" >&2
    return "$status"
  fi
  rm -f "$step_log"
  printf '   done in %d s\n' $((SECONDS - start))
}

# stage NAME COMMAND...: runs COMMAND and records its duration for stage_times.
stages=()
stage() {
  local name=$1 start=$SECONDS
  shift
  "$@" || return
  stages+=("$name $((SECONDS - start)) s")
}
stage_times() {
  local IFS=,
  printf '%s' "${stages[*]}" | sed 's/,/, /g'
}

# Prints the number of parallel compilers: one per core, 2 GiB of memory for each (a
# file with Torch headers needs 1.6 GiB).
parallel_jobs() {
  local cores memory_kib jobs
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  jobs=$((memory_kib / (2 << 20)))
  ((jobs <= cores)) || jobs=$cores
  ((jobs >= 1)) || jobs=1
  echo "$jobs"
}

# Hides known leaks of programs built with the address sanitizer.
suppress_known_leaks() {
  export LSAN_OPTIONS=suppressions=$source_dir/tests/lsan.supp:print_suppressions=0
}
