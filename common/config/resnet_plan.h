// SPDX-License-Identifier: Apache-2.0
//
// Sizes of the residual networks (sngan, sagan, biggan) as their configs and
// the images make them: what models/families builds layers of, and what tells
// without LibTorch whether the layers fit.
//
// Owner: values; copy freely. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/data_shape.h"
#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {

// Attention splits the channels that it sees into this many.
inline constexpr int64_t kAttentionChannelDivisor = 8;

// models.md 3.0.
struct ResnetPlan {
  int64_t smallest = 4;  // height and width of the generator's first layer
  // Channels of the first layer and after each stage.
  std::vector<int64_t> generator = {};
  // After each stage; if bottleneck, after the first convolution, too.
  std::vector<int64_t> discriminator = {};
  int64_t num_halving = 0;     // stages of the discriminator that halve
  int64_t attention_size = 0;  // height of the maps that get it; 0: none do
  bool bottleneck = false;     // a stage has two blocks
  int64_t noise_dim = 0;
  bool noise_in_chunks = false;  // equal ones, as many as generator.size()
};

// `image_size` is one of the family's image_sizes (proto/config.proto).
ResnetPlan PlanOf(const SnganConfig& config, int64_t image_size);
ResnetPlan PlanOf(const SaganConfig& config, int64_t image_size);
ResnetPlan PlanOf(const BigganConfig& config, int64_t image_size);

// BigGAN-deep, in either form.
bool IsDeep(const BigganConfig& config);

// Classes that networks tell apart: none if there is a single one, because
// norms that are told a label which never changes would start anywhere instead
// of as batch norm (traps.md 20).
int64_t ConditionalClasses(const DataShape& data);

// Adds what does not fit, named from `path`: attention at a size that a network
// does not have, or on channels that it cannot split; noise that does not
// split.
void CheckResnetPlan(const std::string& path, const ResnetPlan& plan,
                     int64_t image_size, Faults& faults);

}  // namespace gandem
