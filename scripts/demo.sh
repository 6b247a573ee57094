#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a bare Debian 12 to a grid of generated garments: installs, builds, and
# trains on Fashion-MNIST with a generator and a discriminator process. Further
# arguments go to `gandem train`. Ctrl-C stops it; run again, it goes on.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$source_dir" || exit
run_dir=runs/demo
stage "set-up" "$source_dir/scripts/bootstrap.sh"
stage "build" "$source_dir/scripts/build.sh" --training

gandem=$build_dir/bin/gandem
say "Training: one generator process, one discriminator process, in $run_dir"
status=0
stage "training" "$gandem" train recipes/fashion_mnist_dcgan.textproto \
  --run_dir "$run_dir" "$@" || status=$?
if ((status == 75)); then
  say "Stopped after a checkpoint. Run this again: it goes on from there."
fi
((status == 0)) || exit "$status"
# The newest grid that the run has made of its averaged generator.
grid=$(find "$run_dir/samples" -name '*.png' | sort | tail -n 1)
[[ -n $grid ]] || die "the run has written no grid to $run_dir/samples"
cp "$grid" "$run_dir/grid.png"

cat <<EOF

Done: $(stage_times). Where to look next:
  $run_dir/grid.png            64 images that the generator made
  $run_dir/samples/            the same while it trained
  tensorboard --logdir $run_dir/tensorboard   losses, lags, waiting
  $gandem status $run_dir      what the run is and how far it came
  scripts/build.sh             builds the rest, such as gandem sample and evaluate
  recipes/                     other networks and settings; docs/ explains them
EOF
