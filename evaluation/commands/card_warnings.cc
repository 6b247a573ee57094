// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/card_warnings.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Below it, papers do not compute an FID: the covariance of an Inception's
// features has no full rank.
constexpr int64_t kFewImages = 2048;

}  // namespace

void WarnOfFewImages(int64_t num_images, MetricCard& card) {
  const Metric& distance = card.metrics(0);
  for (const auto& [count, what] :
       {std::pair(num_images, "the images"),
        std::pair(card.reference().num_images(), "the reference")}) {
    if (count == 0 || count >= kFewImages) continue;
    card.add_warnings(absl::StrFormat(
        "%s of %d images of %s: below %d it depends on their number more than "
        "on their quality; about %.3g of it is sampling bias",
        distance.name(), count, what, kFewImages, distance.predicted_bias()));
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

}  // namespace gandem
