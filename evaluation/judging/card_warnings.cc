// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/card_warnings.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status.h"
#include "evaluation/features/feature_store.h"
#include "evaluation/metrics/feature_information.h"
#include "evaluation/metrics/precision_recall.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

// Below it, papers do not compute an FID: the covariance of an Inception's
// features has no full rank.
constexpr int64_t kFewImages = 2048;

// Part of a distance: less is within what figures are compared by.
constexpr double kBiasThatMatters = 0.02;

// Slices of the reference, spread over it, that its density is computed of:
// 1024 images take a second with an Inception's features.
constexpr int64_t kDensitySlices = 8;

// Part of the rank that so many images and numbers allow.
constexpr double kSmallRank = 0.25;
// Features of a lower effective rank hardly tell more than one number does.
constexpr double kSmallEffectiveRank = 2;

// Naeem et al.'s density of a part of the reference within itself: 1 where the
// features tell all images apart. None: there are too few images.
absl::StatusOr<std::optional<double>> DensityOf(const FeatureNet& net,
                                                const FeatureSide& side) {
  const std::vector<IndexRange> slices = SlicesOf(side.num_images);
  const auto count = static_cast<int64_t>(slices.size());
  const int64_t used = std::min(count, kDensitySlices);
  std::vector<at::Tensor> parts;
  for (int64_t i = 0; i < used; ++i) {
    const size_t place = static_cast<size_t>(i * count / used);
    GANDEM_ASSIGN_OR_RETURN(const Features part,
                            side.store->Read(slices[place], net));
    parts.push_back(part.features_ND);
  }
  const PrecisionRecallOptions options;
  const at::Tensor rows_ND = at::cat(parts);
  if (rows_ND.size(0) <= options.density_neighbors) return std::nullopt;
  GANDEM_ASSIGN_OR_RETURN(const PrecisionRecall result,
                          ComputePrecisionRecall(rows_ND, rows_ND, options));
  return result.density;
}

void WarnOfLittleInformation(const FeatureNet& net, int64_t num_reference,
                             MetricCard& card) {
  const FeaturesCard& features = card.features();
  const int64_t dim = net.feature_dim;
  const int64_t possible =
      num_reference == 0 ? dim : std::min(dim, num_reference - 1);
  if (dim == 1) {
    card.add_warnings(absl::StrCat(
        net.name,
        " gives one number for each image: images that differ in anything else "
        "count as equal. Name a network with more with --features"));
  } else if (static_cast<double>(features.rank()) <
             kSmallRank * static_cast<double>(possible)) {
    card.add_warnings(absl::StrFormat(
        "the %d numbers of %s vary in %d directions only over the reference, "
        "where %d are possible: differences in the others count for nothing. "
        "Is the network meant for such images?",
        dim, net.name, features.rank(), possible));
  } else if (features.effective_rank() < kSmallEffectiveRank && possible > 2) {
    card.add_warnings(absl::StrFormat(
        "the %d numbers of %s have an effective rank of %.2f over the "
        "reference: one direction decides almost alone. Is the network meant "
        "for such images?",
        dim, net.name, features.effective_rank()));
  }
}

}  // namespace

void WarnOfFewImages(int64_t num_images, MetricCard& card) {
  const Metric& distance = card.metrics(0);
  if (distance.predicted_bias() < kBiasThatMatters * distance.value()) return;
  for (const auto& [count, what] :
       {std::pair(num_images, "what is judged"),
        std::pair(card.reference().num_images(), "the reference")}) {
    if (count == 0 || count >= kFewImages) continue;
    card.add_warnings(absl::StrFormat(
        "%s has only %d images, below %d: about %.3g of the %s %.4g is "
        "sampling bias; compare it with figures of as many images only",
        what, count, kFewImages, distance.predicted_bias(), distance.name(),
        distance.value()));
  }
}

void WarnOfSmallClasses(const at::Tensor& labels_N,
                        const at::Tensor& reference_labels_N,
                        int64_t num_classes, MetricCard& card) {
  for (const auto& [labels, what] :
       {std::pair(labels_N, "the images"),
        std::pair(reference_labels_N, "the reference")}) {
    const auto fewest =
        at::bincount(labels, {}, num_classes).min().item<int64_t>();
    if (fewest >= kFewImages) continue;
    card.add_warnings(absl::StrFormat(
        "a class has only %d of %s: distances within classes of fewer than %d "
        "depend on the number more than on the quality; compare them for equal "
        "numbers only",
        fewest, what, kFewImages));
  }
}

absl::Status DescribeInformation(const FeatureNet& net,
                                 const Moments& reference,
                                 const std::optional<FeatureSide>& features,
                                 MetricCard& card) {
  return CatchTorch([&]() -> absl::Status {
    const torch::NoGradGuard no_grad;
    GANDEM_ASSIGN_OR_RETURN(const FeatureInformation information,
                            InformationOf(reference));
    FeaturesCard& described = *card.mutable_features();
    described.set_rank(information.rank);
    described.set_effective_rank(information.effective_rank);
    if (features.has_value()) {
      GANDEM_ASSIGN_OR_RETURN(const std::optional<double> density,
                              DensityOf(net, *features));
      if (density.has_value()) described.set_density(*density);
    }
    WarnOfLittleInformation(net, reference.count, card);
    return absl::OkStatus();
  });
}

void WarnOfEqualSides(MetricCard& card) {
  const std::string& sha256 = card.images().sha256();
  if (sha256.empty() || sha256 != card.reference().sha256()) return;
  card.add_warnings(absl::StrCat(
      "what is judged and the reference are the same (sha256 ",
      sha256.substr(0, 12),
      "): a distance of 0 says nothing of the images. Name another "
      "--reference"));
}

}  // namespace gandem
