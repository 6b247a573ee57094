#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs gandem on a bare Debian 12, builds it, and trains on Fashion-MNIST
# with a generator and a discriminator process. Further arguments go to `gandem
# train`. Ctrl-C stops the run; the same command resumes it.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$source_dir" || exit
run_dir=runs/demo
stage "set-up" "$source_dir/scripts/bootstrap.sh"
stage "build" "$source_dir/scripts/build.sh" --training

gandem=$build_dir/bin/gandem
say "Training: one generator process, one discriminator process, in $run_dir"
status=0
stage "training" "$gandem" train recipes/fashion_mnist_dcgan.textproto \
  --run_dir "$run_dir" --set rounds=2500 "$@" || status=$?
if ((status == 75)); then
  say "Stopped after a checkpoint. Run this again to resume."
fi
((status == 0)) || exit "$status"
grid=$(find "$run_dir/samples" -name '*.png' | sort | tail -n 1)
[[ -n $grid ]] || die "the run has written no grid to $run_dir/samples"
cp "$grid" "$run_dir/grid.png"

cat <<EOF

Done: $(stage_times). Where to look next:
  $run_dir/grid.png            64 generated images
  $run_dir/samples/            generated images during training
  tensorboard --logdir $run_dir/tensorboard   losses, lags, waiting
  $gandem status $run_dir      properties and progress of the run
  scripts/build.sh             builds the other programs (gandem sample, evaluate)
  recipes/                     other networks and settings; docs/ explains them
EOF
