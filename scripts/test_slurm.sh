#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `gandem launch slurm` on a Slurm cluster of three nodes on this machine, in
# network namespaces: complete runs, power loss, partition, scancel, time limit and
# so on. Needs root and Debian's Slurm. Prints one line per case; takes ten minutes.
#   scripts/test_slurm.sh             all cases
#   scripts/test_slurm.sh partition   one case; --help lists the cases
#   scripts/test_slurm.sh --keep      keep the folders of the runs

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export GANDEM_BIN_DIR=${GANDEM_BIN_DIR:-$build_dir/bin}
export PYTHONPATH=$source_dir/tests/deploy PYTHONDONTWRITEBYTECODE=1
exec python3 -m slurm_cases "$@"
