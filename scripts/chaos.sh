#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Plays over three hundred faults in runs of two to four workers: kills, stops,
# cuts, full disks, clocks that step and so on. Shows how each run ended, and
# how long it takes to go on after a death. Twenty minutes on two idle cores.
#   scripts/chaos.sh                      all
#   scripts/chaos.sh ring. zombie         those whose lines contain one of these
#   scripts/chaos.sh --seed 7             a hundred runs that this seed draws
#   scripts/chaos.sh --play LINE          this line (docs/chaos.md)
#   scripts/chaos.sh --help               what else there is

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export GANDEM_SOURCE_DIR=$source_dir GANDEM_BIN_DIR=$build_dir/bin
export PYTHONPATH=$source_dir/tests/integration PYTHONDONTWRITEBYTECODE=1
exec python3 -m chaos "$@"
