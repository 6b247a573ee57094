#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs libFuzzer targets, which search for inputs that break gandem's readers. A
# search starts with the inputs found by earlier searches of the target.
#   scripts/fuzz.sh [SECONDS] [TARGET...]  default: 60 s each, all targets
#   scripts/fuzz.sh --minimize TARGET...   add found inputs that reach new code
#                                          to the seeds in tests/fuzz
#   scripts/fuzz.sh --table                print all searches, as Markdown
# The targets are in build/address (scripts/check_sanitizers.sh). Found inputs,
# crashing inputs and the ledger of searches are in ~/.cache/gandem/fuzz.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

address_dir=$build_dir/address
fuzz_dir=$cache_dir/fuzz
ledger=$fuzz_dir/ledger.tsv
most_seeds=30 # limit of files per folder (tests/repository/rules.py)

usage() { sed -n '5,8s/^# //p' "${BASH_SOURCE[0]}"; }

# Prints NAME, PROGRAM and SEEDS (if any) of each target, separated by tabs. Reads
# them from the tests in the build folder.
list_targets() {
  [[ -e $address_dir/CTestTestfile.cmake ]] ||
    die "no fuzz targets in $address_dir: run scripts/check_sanitizers.sh" \
        "address $address_dir build"
  ctest --test-dir "$address_dir" --show-only=json-v1 -R '_fuzzer$' |
    python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]:
    if "command" in test:  # the target is built
        words = [word for word in test["command"] if word[0] != "-"]
        print(test["name"], words[0], *words[2:], sep="\t")'
}

# Sets program and seeds; dies if there is no such target.
find_target() {
  local name=$1 line
  line=$(awk -F'\t' -v name="$name" '$1 == name' <<<"$targets")
  [[ -n $line ]] ||
    die "no target $name in $address_dir; there are:" \
        "$(cut -f1 <<<"$targets" | paste -sd' ')"
  IFS=$'\t' read -r _ program seeds <<<"$line"
  [[ -x $program ]] ||
    die "$program is not built: run scripts/check_sanitizers.sh address" \
        "$address_dir build"
}

number_of_files() { find "$1" -type f | wc -l; }

# search SECONDS NAME: runs a target, prints the result and adds it to the ledger.
# Fails if the search ends early.
search() {
  local seconds=$1 name=$2 start=$SECONDS status=0 log runs coverage crashes
  local inputs=$fuzz_dir/$name/inputs broken=$fuzz_dir/$name/crashes
  log=$fuzz_dir/$name/log
  find_target "$name"
  mkdir -p "$inputs" "$broken" || die "cannot write to $fuzz_dir"
  crashes=$(number_of_files "$broken")
  # libFuzzer stops an input after ten seconds; `timeout` ends any other hang.
  (cd "$fuzz_dir/$name" && timeout -k 10 $((seconds + 120)) "$program" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$broken/" "$inputs" \
    ${seeds:+"$seeds"}) >"$log" 2>&1 || status=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
  coverage=$(grep -o ' cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f3 || true)
  crashes=$(($(number_of_files "$broken") - crashes))
  printf '%s\t%s\t%s\t%d\t%d\t%d\t%d\n' "$(date -u +%FT%TZ)" "$commit" \
    "$name" $((SECONDS - start)) "${runs:-0}" "${coverage:-0}" "$crashes" \
    >>"$ledger"
  printf '%-26s %6d s  %12d runs  %6d edges  %5d inputs  %d new crashes\n' \
    "$name" $((SECONDS - start)) "${runs:-0}" "${coverage:-0}" \
    "$(number_of_files "$inputs")" "$crashes"
  ((status == 0)) && return
  printf '   ended with %d; its log is %s, crashing inputs are in %s\n' \
    "$status" "$log" "$broken" >&2
  return 1
}

# Adds found inputs that reach new code to the seeds until the folder is full, those
# that reach most code first.
minimize() {
  local name=$1 inputs=$fuzz_dir/$1/inputs merged room files
  find_target "$name"
  [[ -n $seeds ]] || die "$name has no seeds: give it a CORPUS in" \
    "tests/fuzz/CMakeLists.txt, and scripts/check_sanitizers.sh address"
  [[ -d $inputs ]] || die "nothing was found yet: run scripts/fuzz.sh 60 $name"
  merged=$(mktemp -d)
  cp "$seeds"/* "$merged" # merging adds to the first folder
  timeout 3600 "$program" -set_cover_merge=1 -timeout=10 -rss_limit_mb=2048 \
    "$merged" "$inputs" >"$fuzz_dir/$name/log" 2>&1 ||
    die "$name: the merge has failed; its log is $fuzz_dir/$name/log"
  for file in "$seeds"/*; do rm "$merged/${file##*/}"; done
  room=$((most_seeds - $(number_of_files "$seeds")))
  ((room >= 0)) || room=0
  echo "$name: $(number_of_files "$merged") inputs reach new code;" \
    "${seeds#"$source_dir/"} has room for $room"
  # Sorts by time, since the merge writes the inputs that add most code first.
  mapfile -t files < <(find "$merged" -type f -printf '%T@ %p\n' | sort -n |
    cut -d' ' -f2- | head -n "$room")
  ((${#files[@]} == 0)) || cp "${files[@]}" "$seeds"
  rm -r "$merged"
}

# Prints totals per target; the number of edges is that of the newest search.
show_table() {
  [[ -s $ledger ]] || die "no search yet: run scripts/fuzz.sh"
  printf '| target | hours | runs | edges | crashes |\n'
  printf '|---|---|---|---|---|\n'
  awk -F'\t' '{hours[$3] += $4 / 3600; runs[$3] += $5; edges[$3] = $6
               crashes[$3] += $7}
    END {for (name in hours) printf "| `%s` | %.1f | %d | %d | %d |\n", name,
           hours[name], runs[name], edges[name], crashes[name]}' \
    "$ledger" | sort
}

command=search seconds=60
case ${1:-} in
  --help) usage; exit 0 ;;
  --minimize) command=minimize; shift ;;
  --table) command=show_table; shift ;;
  -*) usage >&2; exit 2 ;;
  [0-9]*)
    [[ $1 =~ ^[1-9][0-9]{0,5}$ ]] ||
      die "SECONDS is 1 to 999999, not $1"
    seconds=$1
    shift
    ;;
esac
if [[ $command == show_table ]]; then
  (($# == 0)) || { usage >&2; exit 2; }
  show_table
  exit
fi
[[ $command != minimize || $# -gt 0 ]] || { usage >&2; exit 2; }
targets=$(list_targets)
(($# > 0)) || mapfile -t < <(cut -f1 <<<"$targets")
names=("$@" "${MAPFILE[@]}")
for name in "${names[@]}"; do find_target "$name"; done # fails early
suppress_known_leaks
commit=$(git -C "$source_dir" describe --always --dirty 2>/dev/null ||
  echo unknown)
failures=0
for name in "${names[@]}"; do
  case $command in
    search) search "$seconds" "$name" || failures=$((failures + 1)) ;;
    minimize) minimize "$name" ;;
  esac
done
((failures == 0))
