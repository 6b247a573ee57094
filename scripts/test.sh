#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages, builds, runs tests, and ends with ctest's summary.
#   scripts/test.sh         unit tests, integration tests of the core and rules of
#                           the repository; for every change; half an hour
#   scripts/test.sh --all   also sanitizers, fuzz targets, more faults, every
#                           integration test and the extras; CI runs this
# Neither command runs the tests labeled `long` (ctest -L long), which take hours.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

left_out='^(long|check|extra|thorough)$'
case "$*" in
  "") ;;
  --all)
    left_out='^long$'
    export GANDEM_TEST_ALL=1 # chaos_test.py plays more faults
    ;;
  *)
    echo "usage: scripts/test.sh [--all]" \
         "(one test: ctest --test-dir build -R NAME)" >&2
    exit 2
    ;;
esac
stage "set-up" "$source_dir/scripts/bootstrap.sh" --tests
stage "build" "$source_dir/scripts/build.sh" --tests
if [[ ${1:-} == --all ]]; then
  # Builds before ctest, whose time limits are for tests only.
  for kind in address thread; do
    stage "$kind sanitizer build" "$source_dir/scripts/check_sanitizers.sh" \
      "$kind" "$build_dir/$kind" build
  done
fi

say "Running the tests"
status=0
ctest --test-dir "$build_dir" -j 2 -LE "$left_out" --output-on-failure \
  --no-tests=error |
  awk -v times="$(stage_times)" '
       /\*\*\*Skipped/ {++skipped}
       /tests passed, .* tests? failed out of/ {closing = 1}
       closing {rest = rest $0 "\n"; next}
       {print; fflush()}
       END {printf "\n== %d tests skipped (they need a GPU, PyTorch, Slurm or Chromium)\n", skipped
            printf "== before the tests: %s\n\n%s", times, rest}' ||
  status=$?
exit "$status"
