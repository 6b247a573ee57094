// SPDX-License-Identifier: Apache-2.0
//
// Layer sizes of the residual networks (sngan, sagan, biggan), computed from
// config and image size without LibTorch. models/families builds layers from
// them, and validation checks that they fit.
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

// Attention divides the number of its channels by this.
inline constexpr int64_t kAttentionChannelDivisor = 8;

// Layer sizes of both networks (models.md 3.0).
struct ResnetPlan {
  int64_t smallest = 4;  // height and width of the generator's first layer
  // Channels of the first layer and after each stage.
  std::vector<int64_t> generator = {};
  // After each stage; with `bottleneck` also after the first convolution.
  std::vector<int64_t> discriminator = {};
  int64_t num_halving = 0;     // stages of the discriminator that halve
  int64_t attention_size = 0;  // height of its input; 0: none
  bool bottleneck = false;     // a stage has two blocks
  int64_t noise_dim = 0;
  bool noise_in_chunks = false;  // generator.size() equal chunks
};

// `image_size` is one of the family's image_sizes (proto/config.proto).
ResnetPlan PlanOf(const SnganConfig& config, int64_t image_size);
ResnetPlan PlanOf(const SaganConfig& config, int64_t image_size);
ResnetPlan PlanOf(const BigganConfig& config, int64_t image_size);

// Returns whether `config` is BigGAN-deep in either form.
bool IsDeep(const BigganConfig& config);

// Returns the number of classes that networks condition on. A single class
// counts as none: conditional norms with a constant label would start at a
// random scale instead of like batch norm (traps.md 20).
int64_t ConditionalClasses(const DataShape& data);

// Adds faults below `path`: no layer has the attention size, or channels or
// noise cannot be split evenly.
void CheckResnetPlan(const std::string& path, const ResnetPlan& plan,
                     int64_t image_size, Faults& faults);

}  // namespace gandem
