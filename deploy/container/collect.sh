#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Collects the files of a build for the image: programs in DESTINATION/bin, and
# their shared libraries without Debian packages (LibTorch, CUDA, Arrow) in
# DESTINATION/lib.
#   collect.sh BUILD_DIR DESTINATION
set -euo pipefail
build_dir=$1 destination=$2
mkdir -p "$destination/bin" "$destination/lib"
programs=(gandem generator_worker discriminator_worker colocated_worker
          evaluation_job)
# Only a build with the extra `parquet` has it.
[[ ! -e $build_dir/bin/data_worker ]] || programs+=(data_worker)
for name in "${programs[@]}"; do
  program=$build_dir/bin/$name
  [[ -x $program ]] || {
    echo "collect.sh: there is no $program; scripts/build.sh makes it" >&2
    exit 1
  }
  cp "$program" "$destination/bin"
  if ldd "$program" | grep 'not found' >&2; then
    echo "collect.sh: $program lacks the libraries above" >&2
    exit 1
  fi
  ldd "$program" | awk '$3 ~ /^\// && $3 !~ /^(\/usr)?\/lib\/x86_64-linux-gnu/ {print $3}'
done | sort -u | while read -r library; do
  cp -L "$library" "$destination/lib/$(basename "$library")"
done
strip --strip-unneeded "$destination"/bin/*
