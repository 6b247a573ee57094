// SPDX-License-Identifier: Apache-2.0
//
// Fully connected networks on flattened images, without normalization: linear
// layers with LeakyReLU 0.2 between them; the generator ends in tanh
// (Goodfellow et al. 2014, with the slope of later practice). With classes the
// label is appended to the noise and to the image as a one-hot vector (Mirza
// and Osindero 2014, "Conditional generative adversarial nets", section 3.1).
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <memory>
#include <vector>

#include "common/image_shape.h"
#include "models/network.h"

namespace gandem {

struct MlpOptions {
  std::vector<int64_t> hidden;  // widths, input side first; each >= 1
  int64_t noise_dim = 64;       // generator only; >= 1
  ImageShape image;             // required
  int64_t num_classes = 0;      // 0: labels are ignored
};

std::shared_ptr<Generator> MakeMlpGenerator(const MlpOptions& options);
std::shared_ptr<Discriminator> MakeMlpDiscriminator(const MlpOptions& options);

}  // namespace gandem
