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

// A network that judges and never trains, and how it computes: wherever that
// is, as the discriminator's role does.
struct Critic {
  std::shared_ptr<Discriminator> network;
  Compute compute = {};
};
// Makes one whose state has to be loaded.
using CriticFactory = std::function<absl::StatusOr<Critic>()>;

// A micro-batch of a generator step.
struct JudgedImages {
  at::Tensor images_NCHW;
  Condition condition = {};
  int64_t round = 0;
  int64_t first_index = 0;  // in the step
  // Relativistic losses: the real images that they are compared with.
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

// d(value)/d(leaf), where an image's share of `value` is about 1 / batch_size.
// In float16 of a scaled value, and divided again: what leaves is float32.
at::Tensor FeedbackGradient(const at::Tensor& value, const at::Tensor& leaf,
                            int64_t batch_size, const Compute& compute,
                            bool retain_graph);

}  // namespace gandem
