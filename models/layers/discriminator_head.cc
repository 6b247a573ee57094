// SPDX-License-Identifier: Apache-2.0
#include "models/layers/discriminator_head.h"

#include "common/check.h"
#include "models/torch.h"

namespace gandem {
namespace {

using DiscriminatorHeadOptions = DiscriminatorHead::Options;

// Minimum length to divide a row by, as in PyTorch's normalize.
constexpr double kMinLength = 1e-12;

std::shared_ptr<Embedding> MakeEmbedding(
    const DiscriminatorHeadOptions& options, int64_t dim) {
  return std::make_shared<Embedding>(
      Embedding::Options{.num_classes = options.num_classes,
                         .dim = dim,
                         .spectral_norm = options.style.spectral_norm,
                         .spectral_norm_eps = options.style.spectral_norm_eps});
}

at::Tensor UnitRows(const at::Tensor& rows) {
  return rows / rows.norm(2, /*dim=*/1, /*keepdim=*/true).clamp_min(kMinLength);
}

}  // namespace

// Registers layers in the network, to keep tensor names (linear.weight).
DiscriminatorHead::DiscriminatorHead(torch::nn::Module& owner,
                                     const DiscriminatorHeadOptions& options)
    : kind_(options.kind) {
  linear_ = owner.register_module(
      "linear", MakeLinear(options.features, /*out_features=*/1, options.style,
                           options.logit_bias));
  if (kind_ == Kind::kContrastive) {
    linear2_ = owner.register_module(
        "linear2",
        MakeLinear(options.features, options.embedding_dim, options.style));
    embedding_ = owner.register_module(
        "embedding", MakeEmbedding(options, options.embedding_dim));
  } else if (kind_ == Kind::kProjection) {
    embedding_ = owner.register_module(
        "embedding", MakeEmbedding(options, options.features));
  }
}

Verdict DiscriminatorHead::Judge(const at::Tensor& features_NC,
                                 const Condition& condition, ForwardMode mode) {
  at::Tensor logits_N = linear_->forward(features_NC, mode).squeeze(1);
  if (kind_ == Kind::kProjection) {
    GANDEM_CHECK(condition.labels_N.defined());
    const at::Tensor of_labels_NC =
        embedding_->forward(condition.labels_N, mode);
    logits_N = logits_N + (of_labels_NC * features_NC).sum(/*dim=*/1);
  }
  Verdict verdict = {.logits = logits_N};
  if (kind_ == Kind::kContrastive) {
    verdict.embeddings_NE = UnitRows(linear2_->forward(features_NC, mode));
    verdict.proxies_KE = UnitRows(embedding_->Table(mode));
  }
  return verdict;
}

}  // namespace gandem
