#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trains for an hour with two workers of each role, kills a process every minute
# and checks that memory, file descriptors, threads and disk use do not grow.
#   scripts/soak.sh [MINUTES] [--seed N]      default: 60 minutes, seed 1

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export GANDEM_SOURCE_DIR=$source_dir GANDEM_BIN_DIR=$build_dir/bin
exec python3 -B "$source_dir/tests/integration/soak.py" "$@"
