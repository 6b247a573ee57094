#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything, runs all tests but the long ones
# (`ctest -L long`), and ends with ctest's closing lines.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

(($# == 0)) || {
  echo "usage: scripts/test.sh (one test: ctest --test-dir build -R NAME)" >&2
  exit 2
}
stage "set-up" "$source_dir/scripts/bootstrap.sh" --tests
stage "build" "$source_dir/scripts/build.sh"
# Built here, so that what ctest is busy with are tests.
for kind in address thread; do
  stage "$kind sanitizer build" "$source_dir/scripts/check_sanitizers.sh" \
    "$kind" "$build_dir/$kind" build
done

say "Running the tests"
status=0
ctest --test-dir "$build_dir" -j 2 -LE long --output-on-failure \
  --no-tests=error |
  awk -v times="$(stage_times)" '
       /\*\*\*Skipped/ {++skipped}
       /tests passed, .* tests? failed out of/ {closing = 1}
       closing {rest = rest $0 "\n"; next}
       {print; fflush()}
       END {printf "\n== %d tests skipped, for want of a GPU, or of PyTorch, Slurm or Chromium\n", skipped
            printf "== before the tests: %s\n\n%s", times, rest}' ||
  status=$?
exit "$status"
