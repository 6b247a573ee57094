#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What scripts/ says and does when it is used wrongly: scripts_test.sh SCRIPTS
set -u
scripts=$1
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
failures=0

# expect STATUS TEXT COMMAND...: ends so, says so (in either stream).
expect() {
  local status=$1 text=$2 said got=0
  shift 2
  said=$(env -u XDG_CACHE_HOME HOME="$home" "$@" 2>&1) || got=$?
  if ((got != status)) || [[ $said != *"$text"* ]]; then
    printf 'FAILED: %s\n  status %d, expected %d; expected "%s" in:\n%s\n' \
      "$*" "$got" "$status" "$text" "$said"
    failures=$((failures + 1))
  fi
}

for script in "$scripts"/*.sh; do
  bash -n "$script" || failures=$((failures + 1))
done

bootstrap=("$scripts/bootstrap.sh" --skip-packages)
expect 0 "usage:" "${bootstrap[@]}" --help
expect 2 "usage:" "${bootstrap[@]}" --no-such-option
expect 1 "needs a folder" "${bootstrap[@]}" --libtorch
expect 1 "no such folder" "${bootstrap[@]}" --libtorch "$home/none"
expect 2 "set one of them" env -u HOME "${bootstrap[@]}"

# An installation that is not LibTorch, and one of another version.
mkdir -p "$home/torch"/{lib,include/ATen,include/torch/headeronly}
expect 1 "no lib/libtorch_cpu.so" "${bootstrap[@]}" --libtorch "$home/torch"
cp "$(realpath /lib/x86_64-linux-gnu/libz.so.1)" "$home/torch/lib/libtorch_cpu.so"
expect 1 "version unknown" "${bootstrap[@]}" --libtorch "$home/torch"
version() {
  printf '#define TORCH_VERSION_MAJOR %d\n#define TORCH_VERSION_MINOR %d\n' \
    "$1" "$2" >"$home/torch/include/torch/headeronly/version.h"
}
version 2 10
expect 1 "version 2.10" "${bootstrap[@]}" --libtorch "$home/torch"
[[ ! -e $home/.cache/gandem/libtorch ]] ||
  { echo "FAILED: a refused LibTorch was remembered"; failures=$((failures + 1)); }
version 2 11
# Apache Arrow is there already: nothing is downloaded.
arrow=$(sed -n 's/^arrow_version=//p' "$scripts/bootstrap.sh")
mkdir -p "$home/.cache/gandem/arrow-$arrow/pyarrow"
expect 0 "Bootstrap complete" "${bootstrap[@]}" --libtorch "$home/torch"
expect 0 "$home/torch" "${bootstrap[@]}"  # remembered

# A cache that is a file.
rm -rf "$home/.cache"
touch "$home/.cache"
expect 1 "cannot create" "${bootstrap[@]}"

expect 2 "usage:" "$scripts/build.sh" --no-such-option
rm "$home/.cache"
expect 1 "run scripts/bootstrap.sh" "$scripts/build.sh"
expect 2 "usage:" "$scripts/test.sh" --no-such-option
expect 2 "usage:" "$scripts/check_sanitizers.sh"
expect 2 "usage:" "$scripts/chaos.sh" --no-such-option
expect 2 "usage:" "$scripts/soak.sh" --no-such-option
expect 2 "are no time" "$scripts/soak.sh" -1

echo "$failures failures"
((failures == 0))
