// SPDX-License-Identifier: Apache-2.0
//
// The layers that networks are made of. A layer takes a tensor and a mode,
// which says what the pass may read and change, and returns a tensor.
// Parameters start as constants; initialize.h draws them. Nothing here uses
// Torch's own random numbers.
//
// Owner: the network that registered it. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <span>
#include <vector>

#include "models/network.h"

namespace gandem {

class Layer : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& input, ForwardMode mode) = 0;

  // `condition` holds numbers for each image, [N, A], or labels_N. Layers that
  // are not conditional ignore `condition`.
  virtual at::Tensor ForwardGiven(const at::Tensor& input,
                                  const at::Tensor& /*condition*/,
                                  ForwardMode mode) {
    return forward(input, mode);
  }

  // Multiplies the first values of its weight, of WeightInit::kFanIn and
  // kGlorot (family.h).
  virtual double init_gain() const { return 1; }
  // First values of its bias; not of WeightInit::kUniformFanIn.
  virtual double first_bias() const { return 0; }
};

// A layer that uses the condition of ForwardGiven.
class ConditionalLayer : public Layer {
 public:
  at::Tensor forward(const at::Tensor& input, ForwardMode mode) final {
    return ForwardGiven(input, at::Tensor(), mode);
  }
  at::Tensor ForwardGiven(const at::Tensor& input, const at::Tensor& condition,
                          ForwardMode mode) override = 0;
};

// Layers one after the other. Entries are named by their position, functions
// included, as in torch.nn.Sequential, so tensor names equal PyTorch's:
//
//   auto main = std::make_shared<Sequence>();
//   main->Add(std::make_shared<Linear>(options)).Add(&Relu);
class Sequence : public Layer {
 public:
  // May overwrite its argument: the output of the entry before it.
  using Function = at::Tensor (*)(at::Tensor input);

  Sequence& Add(std::shared_ptr<Layer> layer);
  // The function must not be the first entry, because it may overwrite its
  // input.
  Sequence& Add(Function function);

  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;
  // Every entry gets the same condition.
  at::Tensor ForwardGiven(const at::Tensor& input, const at::Tensor& condition,
                          ForwardMode mode) override;

  // ForwardGiven of every entry with its own condition; none: forward.
  at::Tensor ForwardEach(const at::Tensor& input,
                         std::span<const at::Tensor> conditions,
                         ForwardMode mode);
  // Makes passes drop the intermediate results of blocks and compute them again
  // in the backward pass (recompute.h). A block is an entry that has layers of
  // its own. Returns the number of blocks.
  int RecomputeBlocks();

 private:
  struct Entry {
    std::shared_ptr<Layer> layer;  // null: a function
    Function function;
    bool recompute = false;
  };
  std::vector<Entry> entries_;
};

// RecomputeBlocks() of all sequences in a network; 0: it is not made of blocks.
int RecomputeBlocks(torch::nn::Module& network);

// Functions for Sequence; all but those that change the size work in place.
at::Tensor Relu(at::Tensor input);
at::Tensor LeakyRelu(at::Tensor input);  // slope 0.2
at::Tensor Tanh(at::Tensor input);
// Nearest neighbor, twice the height and width.
at::Tensor Upsample(at::Tensor input_NCHW);
// Bilinear, with half-pixel centers.
at::Tensor UpsampleBilinear(at::Tensor input_NCHW);
// Mean over 2 x 2.
at::Tensor Downsample(at::Tensor input_NCHW);
// Double or halve the height and width by the kernel [1, 3, 3, 1] in both
// directions, with zeros beyond the edges. Each function is the transpose of
// the other, except for a factor of 4 (upfirdn2d of StyleGAN2 with the filter
// [1, 2, 1] of R3GAN).
at::Tensor SmoothUpsample(at::Tensor input_NCHW);
at::Tensor SmoothDownsample(at::Tensor input_NCHW);
// Applies the same kernel without a change of scale, after `padding` (1 or 2)
// zeros are added at every edge. The kernel removes 3 rows and columns.
at::Tensor SmoothBlur(const at::Tensor& input_NCHW, int64_t padding);
// Sum over height and width: NCHW -> NC.
at::Tensor SumPool(at::Tensor input_NCHW);

}  // namespace gandem
