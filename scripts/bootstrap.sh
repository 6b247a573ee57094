#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing dependencies on Debian 12: Debian packages (as root or with sudo),
# and LibTorch and Apache Arrow in ${XDG_CACHE_HOME:-$HOME/.cache}/gandem.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<EOF
usage: scripts/bootstrap.sh [--tests] [--cpu | --cuda | --libtorch DIR]
                            [--skip-packages]
  --tests          also install tools for the tests: clang, GoogleTest, Python
                   packages, Abseil built for ThreadSanitizer
  --cpu            LibTorch for the CPU (1.3 GB; the default)
  --cuda           LibTorch with its CUDA libraries (4 GB)
  --libtorch DIR   your own LibTorch $torch_version: DIR/lib, DIR/include
  --skip-packages  do not install Debian packages
$cache_dir/libtorch is a link to the chosen LibTorch.
EOF
}

torch_version=2.11.0
arrow_version=26.0.1

packages=(
  ca-certificates ccache cmake g++ lld ninja-build pkg-config python3
  python3-pip protobuf-compiler protobuf-compiler-grpc libabsl-dev libcli11-dev
  libcurl4-openssl-dev libgoogle-perftools-dev libgrpc++-dev libhwloc-dev
  libisal-dev libjpeg62-turbo-dev libpng-dev libprotobuf-dev libspdlog-dev
  libssl-dev libwebp-dev nlohmann-json3-dev prometheus-cpp-dev zlib1g-dev
  dataset-fashion-mnist
)
# chromium opens the page of gandem report in a test (122 MB, 414 MB on disk).
test_packages=(
  chromium clang clang-format clang-tidy dpkg-dev fonts-dejavu-core
  libclang-rt-14-dev libbenchmark-dev iproute2 libgmock-dev libgtest-dev llvm
  munge procps prometheus python3-dev python3-venv shellcheck slurm-client
  slurmctld slurmd
)

# Packages with daemons. This script disables the system's daemons, because tests
# start their own.
daemons=(munge prometheus slurmctld slurmd)

# Requirements of the wheel torch $torch_version. Even libtorch_cpu.so needs the CUDA
# runtime and CUPTI; only CUDA code needs the rest.
torch_cpu=("torch==$torch_version" nvidia-cuda-runtime==13.0.96
           nvidia-cuda-cupti==13.0.85)
torch_cuda=("${torch_cpu[@]}" nvidia-cublas==13.1.0.3 nvidia-cufft==12.0.0.61
            nvidia-cufile==1.15.1.6 nvidia-curand==10.4.0.35
            nvidia-cusolver==12.0.4.66 nvidia-cusparse==12.6.3.3
            nvidia-nvjitlink==13.0.88 nvidia-cuda-nvrtc==13.0.88
            nvidia-nvtx==13.0.85 nvidia-cudnn-cu13==9.19.0.56
            nvidia-cusparselt-cu13==0.8.0 nvidia-nccl-cu13==2.28.9
            nvidia-nvshmem-cu13==3.4.5)
test_python=(tensorboard==2.21.0 safetensors==0.8.0 numpy==2.4.6 pyyaml==6.0.3)

# Debian's interpreter, which the packages above install.
python=/usr/bin/python3
pip_options=(--no-cache-dir --only-binary :all: --no-input --progress-bar off
             --disable-pip-version-check)

need_free_gb() {  # need_free_gb GB WHAT
  local free_kib
  free_kib=$(df --output=avail -k "$cache_dir" | tail -n 1)
  ((free_kib >= $1 << 20)) ||
    die "$2 needs $1 GB in $cache_dir, $((free_kib >> 20)) GB are free: make" \
        "room, or point XDG_CACHE_HOME at a larger disk"
}

# Prints the likely cause of a failed download and exits.
die_of_download() {
  local network='temporary failure|could not resolve|failed to (fetch|establish)'
  network+='|connection (refused|reset|broken)|unreachable|max retries|timed out'
  if grep -qiE 'no space left|disk quota' "$step_log"; then
    die "the disk is full: make room in $cache_dir, then run this again"
  elif grep -qiE "$network" "$step_log"; then
    die "the network did not answer (see above): check it, then run this again"
  fi
  die "$1 failed (see above): fix the cause, then run this again"
}

# Program that Debian's packages call before they start daemons.
policy=/usr/sbin/policy-rc.d
remove_policy=(:)  # command that removes the created file, if any

install_packages() {  # install_packages PACKAGE...
  local missing=() new_daemons=() as_root=() package
  local -A installed=()
  while read -r package _; do
    installed[${package%%:*}]=1
  done < <(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' 2>/dev/null |
           grep ' ii')
  for package in "$@"; do
    [[ -n ${installed[$package]:-} ]] || missing+=("$package")
  done
  for package in "${daemons[@]}"; do
    [[ " ${missing[*]} " != *" $package "* ]] || new_daemons+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    say "Debian packages: all $# are installed"
    return
  fi
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "these Debian packages are missing: ${missing[*]}." \
          "Run this as root, or install sudo"
    say "Debian packages need root: sudo may ask for your password"
    sudo -v || die "sudo refused. Missing Debian packages: ${missing[*]}"
    as_root=(sudo -n)
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  step "Debian packages: reading the package lists" \
    "${as_root[@]}" apt-get -q -o APT::Update::Error-Mode=any update ||
    die_of_download "apt-get update"
  if [[ -n ${new_daemons[*]} && ! -e $policy ]]; then
    remove_policy=("${as_root[@]}" rm -f "$policy")
    trap '"${remove_policy[@]}"' EXIT
    printf '#!/bin/sh\nexit 101\n' |
      "${as_root[@]}" install -m 755 /dev/stdin "$policy"
  fi
  step "Debian packages: installing ${#missing[@]}: ${missing[*]}" \
    "${as_root[@]}" apt-get -q -y -o DPkg::Lock::Timeout=120 \
    install --no-install-recommends "${missing[@]}" ||
    die_of_download "apt-get install"
  "${remove_policy[@]}"
  if [[ -n ${new_daemons[*]} && -d /run/systemd/system ]]; then
    "${as_root[@]}" systemctl --quiet disable "${new_daemons[@]}"
  fi
}

# Returns whether the loader finds all libraries that the library $1 needs.
loads() { ! ldd "$1" 2>&1 | grep 'not found'; }

# Installs into a temporary folder and then renames it, so that an interrupted
# download does not count as installed.
install_libtorch() {  # install_libtorch cpu|cuda GB REQUIREMENT...
  local kind=$1 gb=$2 target=$cache_dir/libtorch-$torch_version-$1
  local tmp=$cache_dir/tmp.libtorch library=libtorch_cpu.so
  shift 2
  if [[ -d $target ]]; then
    say "LibTorch $torch_version ($kind): is in $target"
  else
    [[ $(uname -m) == x86_64 ]] ||
      die "LibTorch is fetched for x86_64 only; pass --libtorch DIR"
    need_free_gb "$gb" "LibTorch"
    rm -rf "$tmp"
    mkdir -p "$tmp/pip"
    TMPDIR=$tmp/pip \
      step "LibTorch $torch_version ($kind): downloading to $target" \
      "$python" -m pip install "${pip_options[@]}" --no-deps --no-compile \
      --target "$tmp/site" "$@" || die_of_download "pip"
    [[ $kind == cpu ]] || library=libtorch_cuda.so
    loads "$tmp/site/torch/lib/$library" ||
      die "$library lacks the libraries above; pip's packages do not fit"
    sync -f "$tmp/site"
    mv "$tmp/site" "$target"
    rm -rf "$tmp"
  fi
  ln -sfnT "$target/torch" "$cache_dir/libtorch"
}

use_libtorch() {  # use_libtorch DIR
  local dir version
  dir=$(realpath -e "$1" 2>/dev/null) || die "--libtorch $1: no such folder"
  [[ -e $dir/lib/libtorch_cpu.so && -e $dir/include/ATen ]] ||
    die "--libtorch $1: it has no lib/libtorch_cpu.so and include/ATen"
  version=$(awk '/define TORCH_VERSION_M(AJOR|INOR)/ {v = v s $3; s = "."}
                 END {print v}' "$dir/include/torch/headeronly/version.h" \
            2>/dev/null) || version=
  [[ $version == "${torch_version%.*}" ]] ||
    die "--libtorch $1: it is version ${version:-unknown}, gandem is built" \
        "with $torch_version"
  loads "$dir/lib/libtorch_cpu.so" ||
    die "--libtorch $1: libtorch_cpu.so lacks the libraries above"
  ln -sfnT "$dir" "$cache_dir/libtorch"
  say "LibTorch $torch_version: $dir"
}

# Installs Arrow's C++ libraries and headers, which its Python wheel contains.
install_arrow() {
  local target=$cache_dir/arrow-$arrow_version tmp=$cache_dir/tmp.arrow
  if [[ -d $target ]]; then
    say "Apache Arrow $arrow_version: is in $target"
  else
    need_free_gb 1 "Apache Arrow"
    rm -rf "$tmp"
    mkdir -p "$tmp/pip"
    TMPDIR=$tmp/pip \
      step "Apache Arrow $arrow_version: downloading to $target" \
      "$python" -m pip install "${pip_options[@]}" --no-deps --no-compile \
      --target "$tmp/site" "pyarrow==$arrow_version" || die_of_download "pip"
    loads "$(echo "$tmp"/site/pyarrow/libparquet.so.*)" ||
      die "libparquet lacks the libraries above"
    sync -f "$tmp/site"
    mv "$tmp/site" "$target"
    rm -rf "$tmp"
  fi
  ln -sfnT "$target/pyarrow" "$cache_dir/arrow"
}

# Installs independent Python packages that read gandem's files.
install_test_python() {
  local target=$cache_dir/python-${test_python[*]} tmp=$cache_dir/tmp.python
  target=${target// /-}
  if [[ -d $target ]]; then
    say "Python packages for the tests: in $target"
  else
    need_free_gb 1 "Python packages"
    rm -rf "$tmp"
    "$python" -m venv "$tmp"
    step "Python packages for the tests: ${test_python[*]}" \
      "$tmp/bin/python" -m pip install "${pip_options[@]}" \
      "${test_python[@]}" ||
      die_of_download "pip"
    sync -f "$tmp"
    mv "$tmp" "$target"
  fi
  ln -sfnT "$target" "$cache_dir/python"
}

with_tests=0 skip_packages=0 libtorch=
while (($# > 0)); do
  case $1 in
    --tests) with_tests=1 ;;
    --cpu | --cuda) libtorch=$1 ;;
    --libtorch)
      (($# >= 2)) || die "--libtorch needs a folder"
      libtorch=$2
      shift
      ;;
    --skip-packages) skip_packages=1 ;;
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

((with_tests == 0)) || packages+=("${test_packages[@]}")
if ((skip_packages == 0)); then
  os=$(. /etc/os-release 2>/dev/null && echo "${ID:-?} ${VERSION_ID:-?}") ||
    os=unknown
  [[ $os == "debian 12" ]] ||
    die "this is '$os', and the package names are those of Debian 12. Install" \
        "the equivalents yourself and pass --skip-packages: ${packages[*]}"
  install_packages "${packages[@]}"
fi

mkdir -p "$cache_dir" || die "cannot create $cache_dir"
[[ -w $cache_dir ]] || die "cannot write to $cache_dir"
exec 9>"$cache_dir/bootstrap.lock"
flock -n 9 || {
  say "Another bootstrap.sh is running: waiting for it"
  flock 9
}
# The trap also removes unfinished installations.
trap 'rm -rf "$cache_dir"/tmp.*; "${remove_policy[@]}"' EXIT

case $libtorch in
  --cpu) install_libtorch cpu 4 "${torch_cpu[@]}" ;;
  --cuda) install_libtorch cuda 12 "${torch_cuda[@]}" ;;
  "")
    if [[ -e $cache_dir/libtorch/lib/libtorch_cpu.so ]]; then
      say "LibTorch: $(realpath "$cache_dir/libtorch")"
    else
      install_libtorch cpu 4 "${torch_cpu[@]}"
    fi
    ;;
  *) use_libtorch "$libtorch" ;;
esac
install_arrow
if ((with_tests)); then
  install_test_python
  "$source_dir/scripts/build_tsan_abseil.sh"
fi
find "$cache_dir/logs" -type f -mtime +7 -delete 2>/dev/null || true
say "Bootstrap complete"
