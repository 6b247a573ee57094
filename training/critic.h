// SPDX-License-Identifier: Apache-2.0
//
// Feedback: d(generator loss)/d(image) from a frozen discriminator version
// (design.md section 3). Both feedback modes call this one function.
//
// Thread safety: the compute thread that owns the network.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/network.h"
#include "training/losses.h"
#include "training/tensor_bytes.h"

namespace gandem {

struct Judgment {
  at::Tensor gradient_NCHW;  // fresh memory in the layout of the computation
  double loss = 0;           // this micro-batch's share of the step's loss
};

// Judges a micro-batch of a generator step over `batch_size` images that were
// made under `condition`. Changes no state of `critic`.
Judgment JudgeImages(Discriminator& critic, const at::Tensor& images_NCHW,
                     const Condition& condition, AdversarialLoss loss,
                     int64_t batch_size, const Compute& compute);

}  // namespace gandem
