#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the container image of gandem (docs/how_to/kubernetes.md) with buildah,
# as root or as a user with namespaces:
#   scripts/build_container.sh [--cpu | --cuda] [--tag NAME:TAG] [--base IMAGE]
#                              [--programs BUILD_DIR] [--output FILE.tar]

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<EOF
usage: scripts/build_container.sh [options]
  --cpu | --cuda        kind of LibTorch (default: --cpu)
  --tag NAME:TAG        name of the image (default: localhost/gandem:VERSION-cpu)
  --base IMAGE          base image with Debian 12 (default:
                        docker.io/library/debian:12-slim); "mmdebstrap" makes
                        one from Debian packages, without a registry
  --programs BUILD_DIR  copy the programs of this build instead of compiling;
                        the build must use the same LibTorch
  --output FILE.tar     also write the image to a file for docker or containerd
EOF
}

variant=cpu tag='' base=docker.io/library/debian:12-slim programs='' output=''
while (($# > 0)); do
  case $1 in
    --cpu | --cuda) variant=${1#--} ;;
    --tag | --base | --programs | --output)
      (($# >= 2)) || die "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done
version=$(sed -nE 's/^project\(gandem VERSION ([0-9.]+).*/\1/p' \
          "$source_dir/CMakeLists.txt")
tag=${tag:-localhost/gandem:$version-$variant}
command -v buildah >/dev/null ||
  die "there is no buildah: apt-get install buildah (or see" \
      "deploy/container/Containerfile, which docker and podman build, too)"

# The chroot isolation needs neither runc nor cgroups.
build=(buildah bud --isolation chroot)

# Makes a base image of Debian 12 from this machine's package sources.
make_base() {
  local tree
  command -v mmdebstrap >/dev/null ||
    die "there is no mmdebstrap: apt-get install mmdebstrap"
  tree=$(mktemp -d "$cache_dir/tmp.base.XXXXXX")
  step "Debian 12 by mmdebstrap" mmdebstrap --variant=minbase bookworm \
    "$tree/base.tar" || die "mmdebstrap failed (see above)"
  printf 'FROM scratch\nADD base.tar /\n' >"$tree/Containerfile"
  step "base image" "${build[@]}" -t localhost/debian:12 "$tree" ||
    die "the base image failed (see above)"
  rm -rf "$tree"
  base=localhost/debian:12
}

# Writes the build context, with the sources or with existing programs.
make_context() {
  local folder=$1
  mkdir -p "$folder/programs"
  cp "$source_dir"/deploy/container/{Containerfile,gandem_pod.sh} "$folder"
  if [[ -n $programs ]]; then
    tar -cf "$folder/source.tar" -T /dev/null
    "$source_dir/deploy/container/collect.sh" "$programs" "$folder/programs"
  else
    git -C "$source_dir" archive --format=tar HEAD >"$folder/source.tar" ||
      die "the tree is no git repository: its sources cannot be listed"
  fi
}

mkdir -p "$cache_dir"
[[ $base != mmdebstrap ]] || make_base
context=$(mktemp -d "$cache_dir/tmp.image.XXXXXX")
trap 'rm -rf "$context"' EXIT
make_context "$context"
arguments=(--build-arg "BASE=$base" --build-arg "VARIANT=$variant"
           --build-arg "VERSION=$version")
what="image $tag, which compiles gandem: half an hour on 16 cores"
if [[ -n $programs ]]; then
  arguments+=(--build-arg "COMPILE=no")
  what="image $tag of the programs in $programs"
fi
step "$what" \
  "${build[@]}" --layers=false "${arguments[@]}" -t "$tag" \
  -f "$context/Containerfile" "$context" || die "buildah failed (see above)"
if [[ -n $output ]]; then
  rm -f "$output"
  step "writing $output" buildah push "$tag" "docker-archive:$output:$tag" ||
    die "the image could not be written to $output"
fi
say "image $tag: $(buildah inspect --type image --format '{{.FromImageID}}' "$tag" |
  cut -c 1-12)"
