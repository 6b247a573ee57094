// SPDX-License-Identifier: Apache-2.0
#include "tests/training/runs/train_recipe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "tests/testing/status_matchers.h"
#include "tests/training/runs/pair.h"

namespace gandem::testing {

RecipeLosses TrainRecipe(const TrainRecipeOptions& options) {
  const std::string precision = RoleConfig::Precision_Name(options.precision);
  const std::vector<std::string> sets = {
      absl::StrCat("rounds=", options.rounds),
      absl::StrCat("seed=", options.seed), "schedule.feedback=SNAPSHOT",
      "generator.threads=1", "discriminator.threads=1",
      "generator.network.sndcgan.width=8",
      "discriminator.network.sndcgan.width=8", "data.max_images=10000",
      "samples.every_rounds=0", "checkpoint.every_rounds=0",
      // The loss scale falls from 65536 to about this value in the first
      // updates.
      "generator.loss_scale.initial=1024",
      "discriminator.loss_scale.initial=1024",
      "generator.precision=" + precision,
      "discriminator.precision=" + precision};
  const absl::StatusOr<RunConfig> config =
      LoadRunConfig(absl::StrCat(std::getenv("GANDEM_SOURCE_DIR"),
                                 "/recipes/fashion_mnist_sngan.textproto"),
                    sets);
  EXPECT_OK(config.status());
  RecipeLosses sum;
  const auto report = [&](const RoundMetrics& round) {
    EXPECT_TRUE(std::isfinite(round.loss()))
        << precision << ", round " << round.round();
    EXPECT_LE(round.updates_skipped(), 2);
    if (round.round() < options.rounds - options.last) return;
    (round.role() == GENERATOR ? sum.generator : sum.discriminator) +=
        round.loss();
  };
  EXPECT_OK(RunPair(*config, {.report = report}).status());
  const double count = static_cast<double>(options.last);
  return {sum.generator / count, sum.discriminator / count};
}

}  // namespace gandem::testing
