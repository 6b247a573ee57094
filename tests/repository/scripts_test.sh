#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks messages and exit codes of scripts/ for wrong use: scripts_test.sh SCRIPTS
set -u
scripts=$1
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
failures=0

# expect STATUS TEXT COMMAND...: the command exits with STATUS and prints TEXT.
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
# The template of the batch script is a valid script, too.
deploy=$scripts/../deploy
shellcheck --severity=warning --external-sources --source-path="$scripts" \
  "$scripts"/*.sh "$deploy"/container/*.sh "$deploy/slurm/job.sbatch" ||
  failures=$((failures + 1))

bootstrap=("$scripts/bootstrap.sh" --skip-packages)
expect 0 "usage:" "${bootstrap[@]}" --help
expect 2 "usage:" "${bootstrap[@]}" --no-such-option
expect 1 "needs a folder" "${bootstrap[@]}" --libtorch
expect 1 "no such folder" "${bootstrap[@]}" --libtorch "$home/none"
expect 2 "set one of them" env -u HOME "${bootstrap[@]}"

# A folder without LibTorch, and another version of LibTorch.
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
# Apache Arrow is already installed, so nothing is downloaded.
arrow=$(sed -n 's/^arrow_version=//p' "$scripts/bootstrap.sh")
mkdir -p "$home/.cache/gandem/arrow-$arrow/pyarrow"
expect 0 "Bootstrap complete" "${bootstrap[@]}" --libtorch "$home/torch"
expect 0 "$home/torch" "${bootstrap[@]}"  # remembered

# The cache folder is a file.
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
expect 2 "minutes are not positive" "$scripts/soak.sh" -1

# A build folder with one target, which crashes in its second search.
fuzz=("env" "GANDEM_BUILD_DIR=$home/build" "$scripts/fuzz.sh")
expect 2 "SECONDS" "${fuzz[@]}" --no-such-option
expect 2 "SECONDS" "${fuzz[@]}" --minimize
expect 2 "SECONDS" "${fuzz[@]}" --table npy_fuzzer
expect 1 "not 0" "${fuzz[@]}" 0
expect 1 "not 5m" "${fuzz[@]}" 5m
expect 1 "no search yet" "${fuzz[@]}" --table
expect 1 "run scripts/check_sanitizers.sh" "${fuzz[@]}" 5
mkdir -p "$home/build/address" "$home/seeds"
touch "$home/seeds/one"
cat >"$home/a_fuzzer" <<'EOF'
#!/bin/bash
for word in "$@"; do
  case $word in
    -set_cover_merge=1) merged=1 ;;
    -artifact_prefix=*) broken=${word#*=} ;;
    -*) ;;
    *) folders+=("$word") ;;
  esac
done
if [[ -n ${merged:-} ]]; then
  cp "${folders[1]}"/* "${folders[0]}"
  exit
fi
echo '#9 DONE   cov: 17 ft: 40 corp: 2/9b'
echo 'stat::number_of_executed_units: 1234'
if [[ -e ${folders[0]}/found ]]; then touch "${broken}crash-1"; exit 77; fi
echo new >"${folders[0]}/found"
EOF
chmod +x "$home/a_fuzzer"
target=(a_fuzzer "$home/a_fuzzer" -max_total_time=60 "$home/found" "$home/seeds")
printf 'add_test(%s)\n' "${target[*]}" >"$home/build/address/CTestTestfile.cmake"
expect 1 "there are: a_fuzzer" "${fuzz[@]}" 5 b_fuzzer
expect 1 "run scripts/fuzz.sh 60 a_fuzzer" "${fuzz[@]}" --minimize a_fuzzer
expect 0 "1234 runs      17 edges      1 inputs  0 new" "${fuzz[@]}" 5
expect 1 "ended with 77" "${fuzz[@]}" 5 a_fuzzer
expect 0 '| `a_fuzzer` | 0.0 | 2468 | 17 | 1 |' "${fuzz[@]}" --table
expect 0 "1 inputs reach new code" "${fuzz[@]}" --minimize a_fuzzer
[[ $(cat "$home/seeds/found") == new ]] ||
  { echo "FAILED: a found input is no seed"; failures=$((failures + 1)); }
expect 0 "0 inputs reach new code" "${fuzz[@]}" --minimize a_fuzzer

echo "$failures failures"
((failures == 0))
