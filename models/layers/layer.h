// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of networks. A layer maps a tensor to a tensor; the mode
// determines the state that the pass may read and change. Parameters are
// constants until initialize.h draws them, without Torch's random numbers.
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

  // `condition` has numbers per image, [N, A], or labels_N. May be ignored.
  virtual at::Tensor ForwardGiven(const at::Tensor& input,
                                  const at::Tensor& /*condition*/,
                                  ForwardMode mode) {
    return forward(input, mode);
  }

  // Factor of initial weights: WeightInit::kFanIn and kGlorot (family.h).
  virtual double init_gain() const { return 1; }
  // Initial value of the bias, except with WeightInit::kUniformFanIn.
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

// Layers in sequence. Entries, including functions, are named by their position
// as in torch.nn.Sequential, so tensor names equal PyTorch's:
//
//   auto main = std::make_shared<Sequence>();
//   main->Add(std::make_shared<Linear>(options)).Add(&Relu);
class Sequence : public Layer {
 public:
  // May overwrite its argument, the output of the previous entry.
  using Function = at::Tensor (*)(at::Tensor input);

  Sequence& Add(std::shared_ptr<Layer> layer);
  // Not for the first entry, since the function may overwrite its input.
  Sequence& Add(Function function);

  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;
  // Passes the same condition to every entry.
  at::Tensor ForwardGiven(const at::Tensor& input, const at::Tensor& condition,
                          ForwardMode mode) override;

  // Passes each entry its own condition, if there are any.
  at::Tensor ForwardEach(const at::Tensor& input,
                         std::span<const at::Tensor> conditions,
                         ForwardMode mode);
  // Makes passes discard intermediate results of blocks and recompute them in
  // the backward pass (recompute.h). A block is an entry with layers of its
  // own. Returns the number of blocks.
  int RecomputeBlocks();

 private:
  struct Entry {
    std::shared_ptr<Layer> layer;  // null: a function
    Function function;
    bool recompute = false;
  };
  std::vector<Entry> entries_;
};

// Calls RecomputeBlocks() of all sequences; returns the number of blocks.
int RecomputeBlocks(torch::nn::Module& network);

// Functions for Sequence; those that keep the size work in place.
at::Tensor Relu(at::Tensor input);
at::Tensor LeakyRelu(at::Tensor input);  // slope 0.2
at::Tensor Tanh(at::Tensor input);
// Doubles height and width by nearest neighbor.
at::Tensor Upsample(at::Tensor input_NCHW);
// Doubles height and width bilinearly, with half-pixel centers.
at::Tensor UpsampleBilinear(at::Tensor input_NCHW);
// Averages 2 x 2 pixels.
at::Tensor Downsample(at::Tensor input_NCHW);
// Double or halve height and width with the kernel [1, 3, 3, 1] in both
// directions and zeros beyond the edges. Except for a factor of 4, each is the
// transpose of the other (StyleGAN2's upfirdn2d with R3GAN's filter [1, 2, 1]).
at::Tensor SmoothUpsample(at::Tensor input_NCHW);
at::Tensor SmoothDownsample(at::Tensor input_NCHW);
// Applies the same kernel without scaling, after adding `padding` (1 or 2)
// zeros at every edge. The kernel removes 3 rows and columns.
at::Tensor SmoothBlur(const at::Tensor& input_NCHW, int64_t padding);
// Sums over height and width: NCHW -> NC.
at::Tensor SumPool(at::Tensor input_NCHW);

}  // namespace gandem
