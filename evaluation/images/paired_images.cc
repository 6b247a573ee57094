// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/paired_images.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/keyed_permutation.h"

namespace gandem {
namespace {

constexpr uint64_t kPairingSeed = 0;
constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

class PairedImages : public ImageSet {
 public:
  explicit PairedImages(std::unique_ptr<ImageSet> inner)
      : inner_(std::move(inner)) {
    if (inner_->size() == kEndless) return;
    order_.emplace(kPairingSeed, Purpose::kResampling, inner_->size());
  }

  int64_t size() const override {
    return order_.has_value() ? inner_->size() / 2 : kEndless;
  }
  ImageShape shape() const override { return inner_->shape(); }
  std::string NameOf(int64_t index) const override {
    return absl::StrCat(inner_->NameOf(PlaceOf(2 * index)), " beside ",
                        inner_->NameOf(PlaceOf(2 * index + 1)));
  }

  absl::StatusOr<ImagesCard> Describe() const override {
    GANDEM_ASSIGN_OR_RETURN(ImagesCard card, inner_->Describe());
    Sha256 hash;
    hash.Update(absl::StrCat("pairs ", card.sha256()));
    card.set_sha256(hash.Finish());
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    at::Tensor images_NCHW;
    if (order_.has_value()) {
      std::vector<at::Tensor> images;
      for (int64_t i = 2 * range.first; i < 2 * range.end(); ++i) {
        GANDEM_ASSIGN_OR_RETURN(
            const at::Tensor image,
            inner_->Read({.first = PlaceOf(i), .count = 1}));
        images.push_back(image);
      }
      images_NCHW = at::cat(images);
    } else {
      GANDEM_ASSIGN_OR_RETURN(
          images_NCHW,
          inner_->Read({.first = 2 * range.first, .count = 2 * range.count}));
    }
    // [2 N, C, H, W] is [N, 2 C, H, W] in memory.
    return images_NCHW.view({range.count, 2 * images_NCHW.size(1),
                             images_NCHW.size(2), images_NCHW.size(3)});
  }

 private:
  int64_t PlaceOf(int64_t i) const {
    return order_.has_value() ? order_->At(/*turn=*/0, i) : i;
  }

  // Never change after construction.
  const std::unique_ptr<ImageSet> inner_;
  std::optional<KeyedPermutation> order_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSet>> PairsOf(
    std::unique_ptr<ImageSet> inner) {
  if (inner->shape().height == 0) {
    return absl::InvalidArgumentError(
        "the images are of several sizes, and pairs are of one");
  }
  if (inner->size() < 2) {
    return absl::InvalidArgumentError("a pair needs two images");
  }
  return std::make_unique<PairedImages>(std::move(inner));
}

}  // namespace gandem
