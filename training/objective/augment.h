// SPDX-License-Identifier: Apache-2.0
//
// Augments all images that a discriminator sees, as configured: DiffAugment
// (diff_augment.h), or ADA from the extra `ada` (extras/README.md).
//
// Owner: the discriminator's objective owns the controller.
// Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/fleet_gather.h"
#include "models/network.h"
#include "training/objective/diff_augment.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

// Adapts ADA's probability p, a buffer, to the signs of real logits.
class AdaController {
 public:
  virtual ~AdaController() = default;
  // Adds the logits, of any shape, of a micro-batch of real images.
  virtual void Add(const at::Tensor& logits) = 0;
  // Ends step `step`, counted from 0, and possibly changes p. Uses the logits
  // of all ranks of `fleet` (null: one rank), so p is equal on all ranks.
  virtual void EndStep(int64_t step, FleetGather* fleet) = 0;
  virtual double p() const = 0;
  // Returns the mean sign of the logits at the last evaluation, or nullopt.
  virtual std::optional<double> mean_sign() const = 0;
  // Returns state for checkpoints besides the discriminator's buffers.
  virtual TensorsByName State() const = 0;
};

struct AdaFunctions {
  // Adds the buffer for p to a discriminator.
  void (*add_buffer)(const AdaOptions& options,
                     torch::nn::Module& discriminator);
  at::Tensor (*augment)(const at::Tensor& images_NCHW,
                        const AdaOptions& options,
                        const torch::nn::Module& discriminator,
                        const DrawKey& key);
  // `discriminator` has the buffer and outlives the controller. A step has
  // `batch_size` real images over all ranks.
  std::unique_ptr<AdaController> (*new_controller)(
      const AdaOptions& options, torch::nn::Module* discriminator,
      int64_t batch_size);
};

// Returns one element; empty if this build lacks the extra.
std::vector<AdaFunctions> ExtraAda();

// Adds ADA's buffer to a discriminator or critic, once, if `options` is set.
void AddAdaBuffer(const std::optional<AdaOptions>& options,
                  torch::nn::Module& discriminator);

// Returns null without ADA; see AdaFunctions.
std::unique_ptr<AdaController> NewAdaController(
    const std::optional<AdaOptions>& options, torch::nn::Module* discriminator,
    int64_t batch_size);

// Augments images for `discriminator`. Gradients pass through.
at::Tensor Augment(const at::Tensor& images_NCHW, const AugmentOptions& options,
                   const Discriminator& discriminator, const DrawKey& key);

}  // namespace gandem
