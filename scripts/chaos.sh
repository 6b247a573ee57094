#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kills, stops and cuts off the workers of a fleet at a hundred named points,
# one in each run, and shows how that ended; three minutes on two idle cores.
#   scripts/chaos.sh                      all
#   scripts/chaos.sh ring. zombie         those whose lines contain one of these

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export GANDEM_SOURCE_DIR=$source_dir GANDEM_BIN_DIR=$build_dir/bin
exec python3 -B "$source_dir/tests/integration/chaos.py" "$@"
