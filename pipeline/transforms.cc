// SPDX-License-Identifier: Apache-2.0
#include "pipeline/transforms.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"

namespace gandem {
namespace {

class Joined : public Dataset {
 public:
  Joined(std::unique_ptr<Dataset> first, std::unique_ptr<Dataset> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  int64_t size() const override { return first_->size(); }
  ImageUnits Units() const override { return first_->Units(); }
  ImageShape shape() const override {
    ImageShape shape = first_->shape();
    shape.channels += second_->shape().channels;
    return shape;
  }

  absl::StatusOr<StoredSample> Fetch(int64_t index) const override {
    GANDEM_ASSIGN_OR_RETURN(StoredSample first, first_->Fetch(index));
    GANDEM_ASSIGN_OR_RETURN(StoredSample second, second_->Fetch(index));
    return StoredSample{.image = std::move(first.image),
                        .input = std::move(second.image)};
  }
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& stored,
                                 std::optional<SampleKey> key,
                                 std::span<float> out) const override {
    const auto split = static_cast<size_t>(first_->shape().NumValues());
    GANDEM_RETURN_IF_ERROR(
        second_->Finish(index, {stored.input, ""}, key, out.subspan(split))
            .status());
    return first_->Finish(index, {stored.image, ""}, key, out.first(split));
  }

  absl::StatusOr<std::string> ContentHash() const override {
    GANDEM_ASSIGN_OR_RETURN(const std::string first, first_->ContentHash());
    GANDEM_ASSIGN_OR_RETURN(const std::string second, second_->ContentHash());
    Sha256 hash;
    hash.Update(absl::StrCat("pairs ", first, " ", second));
    return hash.Finish();
  }

 private:
  // Never change after construction.
  const std::unique_ptr<Dataset> first_;
  const std::unique_ptr<Dataset> second_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> JoinPairs(
    std::unique_ptr<Dataset> first, std::unique_ptr<Dataset> second) {
  const ImageShape a = first->shape();
  const ImageShape b = second->shape();
  GANDEM_CHECK(a.height == b.height && a.width == b.width);
  if (first->size() != second->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pairs: ", first->size(), " images and ", second->size(),
                     " to be joined to them; expected one for each"));
  }
  return std::make_unique<Joined>(std::move(first), std::move(second));
}

}  // namespace gandem
