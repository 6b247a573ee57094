// SPDX-License-Identifier: Apache-2.0
//
// Feedback: d(generator loss)/d(image) from a frozen discriminator version
// (design.md section 3). SNAPSHOT and IMAGE_GRADIENT call this one function;
// FUSED is in training/objective/fused.h.
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

// A frozen discriminator and its compute settings, which equal those of the
// discriminator's role on every worker.
struct Critic {
  std::shared_ptr<Discriminator> network;
  Compute compute = {};
};
// Makes a critic; the caller loads its state.
using CriticFactory = std::function<absl::StatusOr<Critic>()>;

// A micro-batch of a generator step.
struct JudgedImages {
  at::Tensor images_NCHW;
  Condition condition = {};
  int64_t round = 0;
  int64_t first_index = 0;  // in the step
  // The real images that a relativistic loss compares with.
  at::Tensor real_NCHW = {};
};

struct Judgment {
  at::Tensor gradient_NCHW;  // fresh memory in the layout of the computation
  DeviceSum loss;            // this micro-batch's share of the step's loss
};

// Judges a micro-batch of a generator step over `batch_size` images. Changes no
// state of `critic`.
Judgment JudgeImages(Discriminator& critic, const JudgedImages& judged,
                     const ObjectiveOptions& objective, int64_t batch_size,
                     const Compute& compute);

// d(value)/d(leaf) in float32, where an image's share of `value` is about
// 1 / batch_size. In float16 the value is scaled before the backward pass and
// the gradient is divided by the scale.
at::Tensor FeedbackGradient(const at::Tensor& value, const at::Tensor& leaf,
                            int64_t batch_size, const Compute& compute,
                            bool retain_graph);

}  // namespace gandem
