#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts a real Slurm of three nodes on this machine (network namespaces: root,
# Debian's Slurm) and plays what `gandem launch slurm` promises: runs to their
# end, power loss, partition, scancel, time limit and so on. One line for each;
# ten minutes.
#   scripts/test_slurm.sh             all
#   scripts/test_slurm.sh partition   this case; --help lists them
#   scripts/test_slurm.sh --keep      and leave the folders of the runs

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export GANDEM_BIN_DIR=${GANDEM_BIN_DIR:-$build_dir/bin}
export PYTHONPATH=$source_dir/tests/deploy PYTHONDONTWRITEBYTECODE=1
exec python3 -m slurm_cases "$@"
