// SPDX-License-Identifier: Apache-2.0
//
// The interface of your own networks, and their name in configs
// (docs/library.md). They are LibTorch modules:
//
//   class Generator : public gandem::OwnGenerator { ... };
//   class Discriminator : public gandem::OwnDiscriminator { ... };
//   gandem::NetworksNamed<Generator, Discriminator>("tiny")
//
// gandem trains, freezes and evaluates a network with train(). A frozen critic
// (docs/design.md, section 3) is in training mode, and gandem restores its
// buffers after the pass, so batch norm uses the batch's statistics without
// recording them. If forward() changes another buffer that its backward pass
// needs, use a clone there; otherwise LibTorch refuses the backward pass.
//
// The constructor sets the initial values with LibTorch's generator, which is
// seeded by the run's seed and the role. Parameters are float32.
//
// Owner: gandem, which constructs as many copies as it needs. Thread safety:
// one compute thread. Errors: exceptions; they end the run and are in its log.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace gandem {

// Sizes of the images and labels that a network is constructed for.
struct NetworkShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t num_classes = 0;   // 0: no labels
  std::string options = {};  // OwnConfig.options of the config
};

class OwnGenerator : public torch::nn::Module {
 public:
  // noise_NZ: [N, noise_dim()]; labels_N: int64, undefined without classes.
  // Returns images_NCHW in (-1, 1).
  virtual at::Tensor forward(const at::Tensor& noise_NZ,
                             const at::Tensor& labels_N) = 0;
  virtual int64_t noise_dim() const = 0;
};

class OwnDiscriminator : public torch::nn::Module {
 public:
  // images_NCHW in [-1, 1]. Returns logits_N, or logits of any shape with N
  // first (patch discriminators). Large logits mean real images.
  virtual at::Tensor forward(const at::Tensor& images_NCHW,
                             const at::Tensor& labels_N) = 0;
};

struct OwnNetworks {
  std::string name = {};  // OwnConfig.name of the config
  std::function<std::shared_ptr<OwnGenerator>(const NetworkShape&)>
      make_generator = {};
  std::function<std::shared_ptr<OwnDiscriminator>(const NetworkShape&)>
      make_discriminator = {};
};

// Both are constructed from a NetworkShape.
template <typename ThisGenerator, typename ThisDiscriminator>
OwnNetworks NetworksNamed(std::string name) {
  return {.name = std::move(name),
          .make_generator =
              [](const NetworkShape& shape) {
                return std::make_shared<ThisGenerator>(shape);
              },
          .make_discriminator =
              [](const NetworkShape& shape) {
                return std::make_shared<ThisDiscriminator>(shape);
              }};
}

}  // namespace gandem
