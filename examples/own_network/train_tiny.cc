// SPDX-License-Identifier: Apache-2.0
//
// train_tiny RUN_DIR [NETWORKS]: trains the networks of tiny_worker for 20
// rounds, and evaluates them.
#include <cstdio>

#include "gandem/scaling_manager.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: train_tiny RUN_DIR [NETWORKS]\n");
    return 2;
  }
  try {
    gandem::ScalingManager manager(gandem::Recipe::FromFile(TINY_RECIPE),
                                   /*batch_size=*/32, /*num_workers=*/2,
                                   /*run_dir=*/argv[1]);
    const gandem::TrainResult result = manager.Train(
        {.networks = argc > 2 ? argv[2] : "tiny", .worker = TINY_WORKER});
    std::printf("%s: %lld rounds, %lld images (%.0f a second) in %s\n",
                result.exit_reason.c_str(),
                static_cast<long long>(result.rounds),
                static_cast<long long>(result.images), result.images_per_second,
                result.checkpoint.c_str());
    const gandem::Score score = manager.Evaluate("fid", {"--num", "300"});
    std::printf("%s %.2f (%.2f to %.2f) of %lld images\n", score.name.c_str(),
                score.value, score.low.value_or(score.value),
                score.high.value_or(score.value),
                static_cast<long long>(score.num_images));
  } catch (const gandem::Error& error) {
    std::fprintf(stderr, "train_tiny: %s\n", error.what());
    return 1;
  }
  return 0;
}
