#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds in $GANDEM_BUILD_DIR (default: build/).
#   scripts/build.sh                everything, with tests and benchmarks
#   scripts/build.sh --tests        the programs and the tests
#   scripts/build.sh --programs     the programs only (needs no test packages)
#   scripts/build.sh --training     only gandem and its two training workers
#   scripts/build.sh --python       the programs, and workers inside Python for
#                                   your own networks (docs/own_networks.md)
# GANDEM_PYTHON is the interpreter for --python (default: that of $VIRTUAL_ENV).

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

options=(-DGANDEM_BUILD_TESTS=ON -DGANDEM_BUILD_BENCHMARKS=ON)
targets=()
if [[ ${1:-} == --python ]]; then
  python=${GANDEM_PYTHON:-${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}}
  [[ -n $python ]] ||
    die "--python needs an interpreter: activate its virtual environment, or" \
        "set GANDEM_PYTHON"
  python=$(command -v "$python") || die "GANDEM_PYTHON: no such program"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
    die "$python is older than Python 3.9"
fi
case ${1:-} in
  "") ;;
  --tests) options=(-DGANDEM_BUILD_TESTS=ON -DGANDEM_BUILD_BENCHMARKS=OFF) ;;
  --programs | --python | --training)
    targets=(gandem_programs)
    [[ $1 != --training ]] ||
      targets=(gandem generator_worker discriminator_worker)
    # An existing build folder keeps its tests.
    if [[ -e $build_dir/CMakeCache.txt ]]; then
      options=()
    else
      options=(-DGANDEM_BUILD_TESTS=OFF -DGANDEM_BUILD_BENCHMARKS=OFF)
    fi
    ;;
  *)
    echo "usage: scripts/build.sh [--tests | --programs | --training | --python]" >&2
    exit 2
    ;;
esac

[[ -z ${python:-} ]] ||
  options+=(-DGANDEM_PYTHON_WORKER=ON -DPython3_EXECUTABLE="$python")

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
