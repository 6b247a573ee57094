// SPDX-License-Identifier: Apache-2.0
//
// What a config asks of augmentation, for all that a discriminator sees:
// DiffAugment (diff_augment.h), or ADA of the extra `ada` (extras/README.md).
//
// Owner: the discriminator's objective has the controller; functions are pure.
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

// Moves the probability p of ADA, which is the discriminator's own, by what the
// discriminator says of real images.
class AdaController {
 public:
  virtual ~AdaController() = default;
  // Of a micro-batch of real images: of any shape.
  virtual void Add(const at::Tensor& logits) = 0;
  // After step `step`, counted from 0: may move p, by the logits of all ranks
  // of `fleet` (null: they are all here). The same on all ranks.
  virtual void EndStep(int64_t step, FleetGather* fleet) = 0;
  virtual double p() const = 0;
  // The mean sign of the logits at the last look; nothing before the first.
  virtual std::optional<double> mean_sign() const = 0;
  // What a checkpoint has to keep beside the discriminator's buffers.
  virtual TensorsByName State() const = 0;
};

struct AdaFunctions {
  // Gives a discriminator what it knows p by.
  void (*add_buffer)(const AdaOptions& options,
                     torch::nn::Module& discriminator);
  at::Tensor (*augment)(const at::Tensor& images_NCHW,
                        const AdaOptions& options,
                        const torch::nn::Module& discriminator,
                        const DrawKey& key);
  // `discriminator` outlives the controller and has the buffer. Steps have
  // `batch_size` real images, over all ranks.
  std::unique_ptr<AdaController> (*new_controller)(
      const AdaOptions& options, torch::nn::Module* discriminator,
      int64_t batch_size);
};

// One element, or none: this build lacks the extra.
std::vector<AdaFunctions> ExtraAda();

// Gives a discriminator that stands ready for training, or to judge, the
// buffers that `options` ask for; null: none. Once per network.
void AddAdaBuffer(const std::optional<AdaOptions>& options,
                  torch::nn::Module& discriminator);

// Null without ADA; see AdaFunctions.
std::unique_ptr<AdaController> NewAdaController(
    const std::optional<AdaOptions>& options, torch::nn::Module* discriminator,
    int64_t batch_size);

// As `discriminator` sees them. The gradient passes through.
at::Tensor Augment(const at::Tensor& images_NCHW, const AugmentOptions& options,
                   const Discriminator& discriminator, const DrawKey& key);

}  // namespace gandem
