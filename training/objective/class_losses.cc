// SPDX-License-Identifier: Apache-2.0
#include "training/objective/class_losses.h"

#include <limits>

#include "models/network.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor SameClass(const at::Tensor& labels_N) {
  return labels_N.unsqueeze(1) == labels_N.unsqueeze(0);
}

at::Tensor Diagonal(const at::Tensor& labels_N) {
  return torch::eye(labels_N.size(0), labels_N.options().dtype(torch::kBool));
}

at::Tensor OwnProxySimilarity(const at::Tensor& embeddings_NE,
                              const at::Tensor& proxies_KE,
                              const at::Tensor& labels_N) {
  return (embeddings_NE * proxies_KE.index_select(0, labels_N)).sum(1);
}

// Returns log(exp(first_i) + sum over kept j of exp(others_ij)).
at::Tensor LogSumExp(const at::Tensor& first_N, const at::Tensor& others_NN,
                     const at::Tensor& kept_NN) {
  return at::cat({first_N.unsqueeze(1),
                  others_NN.masked_fill(kept_NN.logical_not(), -kInfinity)},
                 1)
      .logsumexp(1);
}

}  // namespace

ClassLossOptions ClassLossFrom(const ClassLossConfig& config) {
  return {.family = config.family(),
          .weight = config.weight(),
          .temperature = config.temperature(),
          .margin = config.margin(),
          .shift_negatives = config.shift_negatives()};
}

at::Tensor ContrastiveLosses(const at::Tensor& embeddings_NE,
                             const at::Tensor& proxies_KE,
                             const at::Tensor& labels_N, double temperature) {
  const at::Tensor proxy_N =
      OwnProxySimilarity(embeddings_NE, proxies_KE, labels_N) / temperature;
  const at::Tensor similarity_NN =
      embeddings_NE.mm(embeddings_NE.t()) / temperature;
  const at::Tensor others_NN = Diagonal(labels_N).logical_not();
  return LogSumExp(proxy_N, similarity_NN, others_NN) -
         LogSumExp(proxy_N, similarity_NN,
                   others_NN.logical_and(SameClass(labels_N)));
}

// The margins clip both parts: pairs that are similar or different enough
// contribute no gradient.
at::Tensor D2dCrossEntropyLosses(const at::Tensor& embeddings_NE,
                                 const at::Tensor& proxies_KE,
                                 const at::Tensor& labels_N, double temperature,
                                 double margin, bool shift_negatives) {
  const at::Tensor positive_N = at::relu(
      (margin - OwnProxySimilarity(embeddings_NE, proxies_KE, labels_N)) /
      temperature);
  const at::Tensor raw_NN =
      (embeddings_NE.mm(embeddings_NE.t()) + (margin - 1)) / temperature;
  at::Tensor negative_NN = at::relu(raw_NN);
  if (shift_negatives) {
    negative_NN = negative_NN - raw_NN.detach()
                                    .masked_fill(Diagonal(labels_N), -kInfinity)
                                    .amax(1, /*keepdim=*/true);
  }
  return positive_N +
         LogSumExp(-positive_N, negative_NN, SameClass(labels_N).logical_not());
}

at::Tensor ClassLoss(const ClassLossOptions& options, const Verdict& verdict,
                     const at::Tensor& labels_N) {
  TORCH_CHECK(verdict.embeddings_NE.defined(),
              "class_loss needs a discriminator that gives embeddings");
  TORCH_CHECK(labels_N.defined(), "class_loss needs images with labels");
  const bool contrastive = options.family == ClassLossConfig::CONTRASTIVE;
  const at::Tensor losses_N =
      contrastive
          ? ContrastiveLosses(verdict.embeddings_NE, verdict.proxies_KE,
                              labels_N, options.temperature)
          : D2dCrossEntropyLosses(verdict.embeddings_NE, verdict.proxies_KE,
                                  labels_N, options.temperature, options.margin,
                                  options.shift_negatives);
  return options.weight * losses_N.mean();
}

}  // namespace gandem
