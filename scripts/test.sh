#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything, runs all tests but the long ones
# (`ctest -L long`), and ends with ctest's closing lines.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

(($# == 0)) || {
  echo "usage: scripts/test.sh (one test: ctest --test-dir build -R NAME)" >&2
  exit 2
}
"$source_dir/scripts/bootstrap.sh" --tests
"$source_dir/scripts/build.sh"

say "Running the tests: sanitizer_* are builds of their own, minutes each"
status=0
ctest --test-dir "$build_dir" -j 2 -LE long --output-on-failure --no-tests=error |
  awk '/\*\*\*Skipped/ {++skipped}
       /tests passed, .* tests? failed out of/ {closing = 1}
       closing {rest = rest $0 "\n"; next}
       {print; fflush()}
       END {printf "\n== %d tests skipped, for want of a GPU\n", skipped
            printf "\n%s", rest}' ||
  status=$?
exit "$status"
