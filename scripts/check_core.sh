#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the programs without extras/ in the folder DIR and checks their messages
# about missing extras: check_core.sh DIR

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ -n ${1:-} ]] || die "usage: check_core.sh DIR (a build folder)"
dir=$(realpath -m "$1")
cd "$source_dir" || exit
libtorch=$(realpath -e "$cache_dir/libtorch") ||
  die "no LibTorch yet: run scripts/bootstrap.sh"

say "Building the core alone in $dir"
cmake -G Ninja -S "$source_dir" -B "$dir" -DGANDEM_LIBTORCH="$libtorch" \
  -DGANDEM_EXTRAS=OFF -DGANDEM_BUILD_TESTS=OFF -DGANDEM_BUILD_BENCHMARKS=OFF \
  >/dev/null
ninja -C "$dir" -j "$(parallel_jobs)" gandem_programs

# names_extra EXTRA ARGUMENTS...: checks that gandem fails and names the extra.
names_extra() {
  local extra=$1 status=0 answer
  shift
  answer=$("$dir/bin/gandem" "$@" 2>&1) || status=$?
  ((status == 2)) || die "gandem $*: exit code $status, expected 2: $answer"
  grep -qF "built without the extra \`$extra\`; run scripts/build.sh" \
    <<<"$answer" || die "gandem $*: does not name the extra $extra: $answer"
}
printf PAR1 >"$dir/images.parquet"
names_extra parquet dataset show "$dir/images.parquet"
for recipe in stylegan2_32:stylegan2 r3gan_32:r3gan fashion_mnist_ada:ada; do
  names_extra "${recipe#*:}" train "recipes/${recipe%:*}.textproto" \
    --run_dir "$dir/run"
done
say "The core names the missing extras"
