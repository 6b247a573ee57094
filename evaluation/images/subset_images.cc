// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/subset_images.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/keyed_permutation.h"

namespace gandem {
namespace {

std::vector<int64_t> Drawn(int64_t size, const ImagesSpec::Subset& subset) {
  const KeyedPermutation order(subset.seed(), Purpose::kResampling, size);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < subset.count(); ++i) {
    places.push_back(order.At(/*turn=*/0, i));
  }
  std::ranges::sort(places);
  return places;
}

class SubsetImages : public ImageSet {
 public:
  SubsetImages(std::unique_ptr<ImageSet> inner, const ImagesSpec::Subset& spec)
      : inner_(std::move(inner)),
        spec_(spec),
        places_(Drawn(inner_->size(), spec)) {}

  int64_t size() const override { return spec_.count(); }
  ImageShape shape() const override { return inner_->shape(); }
  int64_t num_classes() const override { return inner_->num_classes(); }
  std::string NameOf(int64_t index) const override {
    return inner_->NameOf(places_[index]);
  }

  absl::StatusOr<at::Tensor> ReadLabels(IndexRange range) override {
    GANDEM_ASSIGN_OR_RETURN(
        const at::Tensor labels_N,
        inner_->ReadLabels({.first = 0, .count = inner_->size()}));
    const at::Tensor places_N = torch::tensor(places_, at::kLong);
    return labels_N.index_select(0,
                                 places_N.narrow(0, range.first, range.count));
  }

  absl::StatusOr<ImagesCard> Describe() const override {
    GANDEM_ASSIGN_OR_RETURN(ImagesCard card, inner_->Describe());
    Sha256 hash;
    hash.Update(absl::StrCat("subset ", card.sha256(), " ", spec_.count(),
                             " of ", inner_->size(), " seed ", spec_.seed()));
    card.set_sha256(hash.Finish());
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    return ReadOneByOne(range);
  }

  absl::StatusOr<std::vector<at::Tensor>> ReadEachImage(
      IndexRange range) override {
    std::vector<at::Tensor> images;
    for (int64_t i = range.first; i < range.end(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(
          const std::vector<at::Tensor> one,
          inner_->ReadEach({.first = places_[i], .count = 1}));
      images.push_back(one.front());
    }
    return images;
  }

 private:
  // Never change after construction.
  const std::unique_ptr<ImageSet> inner_;
  const ImagesSpec::Subset spec_;
  const std::vector<int64_t> places_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSet>> SubsetOf(
    std::unique_ptr<ImageSet> inner, const ImagesSpec::Subset& subset) {
  Faults faults("subset");
  faults.CheckRange("count", subset.count(), 1, inner->size());
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  return std::make_unique<SubsetImages>(std::move(inner), subset);
}

}  // namespace gandem
