#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds Debian's Abseil with -fsanitize=thread in the cache folder. With Debian's
# binary package, ThreadSanitizer does not see locks of absl::Mutex and reports
# false races. Needs the network, but not root.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Fetches the source package from the system's mirror. Uses a separate apt
# configuration, because that of the system may lack sources.
fetch_source() {  # fetch_source DIR
  local dir=$1 mirror
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' \
           'Codename: bookworm' 2>/dev/null | grep -m 1 debian) || {
    echo "apt knows no mirror of bookworm: run apt-get update"
    return 1
  }
  mkdir -p "$dir"/{lists,cache,etc}
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg suite
  for suite in bookworm bookworm-updates; do
    echo "deb-src [signed-by=$keyring] $mirror $suite main"
  done >"$dir/etc/sources.list"
  local options=(-q -o Dir::Etc::SourceList="$dir/etc/sources.list"
                 -o Dir::Etc::SourceParts=/dev/null
                 -o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache"
                 -o APT::Update::Error-Mode=any -o APT::Sandbox::User=)
  apt-get "${options[@]}" update &&
    cd "$dir" &&
    apt-get "${options[@]}" source abseil
}

build() {  # build SOURCE PREFIX
  cmake -G Ninja -S "$1" -B "$1/build-tsan" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_STANDARD=20 \
    -DCMAKE_CXX_FLAGS="-fsanitize=thread -g1 -fno-omit-frame-pointer" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DBUILD_TESTING=OFF \
    -DABSL_PROPAGATE_CXX_STD=ON -DCMAKE_INSTALL_PREFIX="$2" &&
    ninja -C "$1/build-tsan" -j "$(parallel_jobs)" &&
    ninja -C "$1/build-tsan" install  # the result is relocatable
}

target=$cache_dir/abseil-tsan-clang14
tmp=$cache_dir/tmp.abseil-tsan
if [[ -d $target ]]; then
  say "Abseil for ThreadSanitizer: in $target"
  exit 0
fi
rm -rf "$tmp"
mkdir -p "$tmp"
step "Abseil for ThreadSanitizer: fetching Debian's source package" \
  fetch_source "$tmp/source" ||
  die "Debian's source package of Abseil could not be fetched (see above):" \
      "check the network, then run this again"
source=$(echo "$tmp"/source/abseil-*/CMakeLists.txt)
[[ -e $source ]] || die "no Abseil source in $tmp/source"
step "Abseil for ThreadSanitizer: building" \
  build "$(dirname "$source")" "$tmp/install" ||
  die "building Abseil for ThreadSanitizer failed (see above)"
sync -f "$tmp/install"
mv "$tmp/install" "$target"
rm -rf "$tmp"
