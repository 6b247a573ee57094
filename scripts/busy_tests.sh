#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the integration tests RUNS times while two compilers keep the machine
# busy, and counts the failures of each test. Run scripts/build.sh first.
#   scripts/busy_tests.sh [RUNS]     default: 20, about five minutes each

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

runs=${1:-20}
if (($# > 1)) || [[ ! $runs =~ ^[1-9][0-9]*$ ]]; then
  sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}"
  [[ $runs == --help ]] || exit 2
  exit 0
fi
log=$(mktemp /tmp/gandem-busy-tests.XXXXXX)

# Repeats a compilation of about two seconds.
keep_compiling() {
  while printf '#include <regex>\nstd::wregex r(L"a|b");\n' |
    g++ -std=c++20 -O2 -x c++ -c -o /dev/null -; do :; done
}

set -m # a process group per job, so that a job can be killed as a whole
keep_compiling & compilers=(-$!)
keep_compiling & compilers+=(-$!)
set +m
trap 'kill -- "${compilers[@]}" 2>/dev/null' EXIT

for ((run = 1; run <= runs; ++run)); do
  say "Run $run of $runs; all output is in $log"
  ctest --test-dir "$build_dir" -j 2 -L integration -LE long \
    --output-on-failure --no-tests=error 2>&1 | tee -a "$log" |
    grep -E ' Test +#[0-9]+: ' || true
done
awk '/ Test +#[0-9]+: / {sub(/.*Test +#[0-9]+: /, ""); ++runs[$1]
                         if (!/ Passed /) ++failed[$1]}
     END {print "\n| test | runs | failed |\n|---|---|---|"; fflush()
          for (test in runs) {
            printf "| %s | %d | %d |\n", test, runs[test], failed[test] | "sort"
            bad += failed[test] }
          close("sort"); exit bad > 0}' "$log"
