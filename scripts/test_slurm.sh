#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts a real Slurm of three nodes on this machine (network namespaces: root,
# Debian's Slurm) and tests `gandem launch slurm`: complete runs, power loss,
# partition, scancel, time limit and so on. Prints a line per case; takes ten
# minutes.
#   scripts/test_slurm.sh             all cases
#   scripts/test_slurm.sh partition   one case; --help lists the cases
#   scripts/test_slurm.sh --keep      keep the folders of the runs

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export GANDEM_BIN_DIR=${GANDEM_BIN_DIR:-$build_dir/bin}
export PYTHONPATH=$source_dir/tests/deploy PYTHONDONTWRITEBYTECODE=1
exec python3 -m slurm_cases "$@"
