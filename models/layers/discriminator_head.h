// SPDX-License-Identifier: Apache-2.0
//
// Last layers of a discriminator, from features to verdict:
//   kPlain        logit = linear(h)
//   kProjection   logit = linear(h) + <embedding(y), h>
//                 (Miyato and Koyama 2018, "cGANs with projection
//                 discriminator", equation 9)
//   kContrastive  logit = linear(h); for the losses of ContraGAN (Kang and Park
//                 2020) and ReACGAN (Kang et al. 2021) also linear2(h) and
//                 the classes' proxies embedding(k), both of unit length
//
// Tensors: linear, linear2 and embedding of the network.
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <memory>

#include "models/layers/layer_style.h"
#include "models/layers/weighted.h"
#include "models/network.h"

namespace gandem {

class DiscriminatorHead {
 public:
  enum class Kind { kPlain, kProjection, kContrastive };

  struct Options {
    Kind kind = Kind::kPlain;
    int64_t features = 0;       // C; required, >= 1
    int64_t num_classes = 0;    // K; required except for kPlain
    int64_t embedding_dim = 0;  // E; required for kContrastive
    bool logit_bias = true;
    LayerStyle style = {};  // spectral norm
  };

  // Registers its layers in `owner`.
  DiscriminatorHead(torch::nn::Module& owner, const Options& options);

  // Returns logits and, if contrastive, embeddings_NE and proxies_KE.
  Verdict Judge(const at::Tensor& features_NC, const Condition& condition,
                ForwardMode mode);

 private:
  const Kind kind_;
  std::shared_ptr<Linear> linear_;
  std::shared_ptr<Linear> linear2_;
  std::shared_ptr<Embedding> embedding_;
};

}  // namespace gandem
