#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the folders without Torch with clang and a sanitizer in the folder DIR, and
# runs their tests. Both builds use -Wthread-safety -Werror.
#   check_sanitizers.sh address DIR [build]  AddressSanitizer, UBSan, fuzz targets
#   check_sanitizers.sh thread DIR [build]   ThreadSanitizer; tests without gRPC
# With "build" the script runs no tests.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

kind=${1:-} dir=${2:-} only=${3:-}
options=(-DGANDEM_TORCH=OFF -DGANDEM_BUILD_BENCHMARKS=OFF
         -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Release
         -DCMAKE_CXX_FLAGS_RELEASE=-O1)
run=()
case $kind in
  address)
    options+=("-DGANDEM_SANITIZE=address,undefined" -DGANDEM_FUZZ=ON)
    target=all
    suppress_known_leaks
    ;;
  thread)
    abseil=$cache_dir/abseil-tsan-clang14
    [[ -d $abseil ]] ||
      die "no Abseil for ThreadSanitizer: run scripts/bootstrap.sh --tests"
    options+=(-DGANDEM_SANITIZE=thread -DCMAKE_PREFIX_PATH="$abseil")
    target=gandem_tests
    export TSAN_OPTIONS=suppressions=$source_dir/tests/tsan.supp
    # clang 14's runtime cannot place its shadow memory on kernels with strong
    # address randomization.
    ! setarch -R true 2>/dev/null || run=(setarch -R)
    ;;
  *)
    echo "usage: check_sanitizers.sh address|thread DIR [build]" >&2
    exit 2
    ;;
esac
[[ -n $dir ]] || die "no build folder given"

say "Configuring the $kind sanitizer build in $dir"
cmake -G Ninja -S "$source_dir" -B "$dir" "${options[@]}" >/dev/null
ninja -C "$dir" -j "$(parallel_jobs)" "$target"
[[ $only != build ]] || exit 0
"${run[@]}" ctest --test-dir "$dir" -j 2 -LE 'long|plain|fuzz' \
  --output-on-failure --no-tests=error
# Fuzz targets run for a fixed time, so they run in parallel.
[[ $kind != address ]] ||
  ctest --test-dir "$dir" -j 4 -L fuzz --output-on-failure --no-tests=error
