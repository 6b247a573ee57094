#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds. GANDEM_BUILD_DIR names another folder than build/.
#   scripts/build.sh                everything, tests and benchmarks included
#   scripts/build.sh --programs     the programs only (needs no test packages)

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

options=(-DGANDEM_BUILD_TESTS=ON -DGANDEM_BUILD_BENCHMARKS=ON)
targets=()
case ${1:-} in
  "") ;;
  --programs)
    targets=(gandem_programs)
    # An existing build folder keeps its tests.
    if [[ -e $build_dir/CMakeCache.txt ]]; then
      options=()
    else
      options=(-DGANDEM_BUILD_TESTS=OFF -DGANDEM_BUILD_BENCHMARKS=OFF)
    fi
    ;;
  *)
    echo "usage: scripts/build.sh [--programs]" >&2
    exit 2
    ;;
esac

libtorch=$(realpath -e "$cache_dir/libtorch" 2>/dev/null) ||
  die "no LibTorch yet: run scripts/bootstrap.sh"
test_python=$cache_dir/python/bin/python
[[ -x $test_python ]] || test_python=
jobs=$(parallel_jobs)
step "Configuring in $build_dir" \
  cmake -G Ninja -S "$source_dir" -B "$build_dir" \
  -DGANDEM_LIBTORCH="$libtorch" \
  -DGANDEM_TEST_PYTHON="$test_python" "${options[@]}" ||
  die "cmake failed: are all packages there? (scripts/bootstrap.sh --tests)"
say "Building with $jobs jobs"
ninja -C "$build_dir" -j "$jobs" "${targets[@]}"
