#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Injects over three hundred faults in runs of two to four workers: kills,
# stops, cut connections, full disks, clock steps and so on. Prints the outcome
# of each run and the recovery time after a death. Takes 20 minutes on two cores.
#   scripts/chaos.sh                      all faults
#   scripts/chaos.sh ring. zombie         lines that contain one of these words
#   scripts/chaos.sh --seed 7             a hundred random runs from this seed
#   scripts/chaos.sh --play LINE          one line (docs/chaos.md)
#   scripts/chaos.sh --help               all options

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export GANDEM_SOURCE_DIR=$source_dir GANDEM_BIN_DIR=$build_dir/bin
export PYTHONPATH=$source_dir/tests/integration PYTHONDONTWRITEBYTECODE=1
exec python3 -m chaos "$@"
