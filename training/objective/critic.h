// SPDX-License-Identifier: Apache-2.0
//
// Computes feedback, d(generator loss)/d(image), with a frozen discriminator
// version (design.md section 3), for SNAPSHOT and IMAGE_GRADIENT. FUSED is in
// training/objective/fused.h.
//
// Thread safety: the compute thread that owns the network.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "models/network.h"
#include "training/compute/tensor_bytes.h"
#include "training/objective/objective.h"
#include "training/state/device_sum.h"

namespace gandem {

// A frozen discriminator with the compute settings of its own role.
struct Critic {
  std::shared_ptr<Discriminator> network;
  Compute compute = {};
};
// Makes a critic whose state the caller loads.
using CriticFactory = std::function<absl::StatusOr<Critic>()>;

// A micro-batch of a generator step.
struct JudgedImages {
  at::Tensor images_NCHW;
  Condition condition = {};
  int64_t round = 0;
  int64_t first_index = 0;  // within the step
  // Real images to compare with, for relativistic losses.
  at::Tensor real_NCHW = {};
};

struct Judgment {
  at::Tensor gradient_NCHW;  // new memory in the layout of `compute`
  DeviceSum loss;            // this micro-batch's share of the step's loss
};

// Evaluates a micro-batch of a generator step over `batch_size` images.
Judgment JudgeImages(Discriminator& critic, const JudgedImages& judged,
                     const ObjectiveOptions& objective, int64_t batch_size,
                     const Compute& compute);

// Computes d(value)/d(leaf) in float32, where an image's share of `value` is
// about 1 / batch_size. In float16 scales the value before the backward pass
// and divides the gradient by the scale.
at::Tensor FeedbackGradient(const at::Tensor& value, const at::Tensor& leaf,
                            int64_t batch_size, const Compute& compute,
                            bool retain_graph);

}  // namespace gandem
