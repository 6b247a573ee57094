// SPDX-License-Identifier: Apache-2.0
//
// A set of images whose pixels and names tell their index.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "evaluation/images/image_set.h"
#include "models/torch.h"

namespace gandem::testing {

// Image i is "i.png" and has side * side gray pixels i, i + 1 ... modulo 256.
class NumberedImages : public ImageSet {
 public:
  explicit NumberedImages(int64_t size, int64_t side = 1)
      : size_(size), side_(side) {}

  int64_t size() const override { return size_; }
  ImageShape shape() const override {
    return {.channels = 1, .height = side_, .width = side_};
  }
  std::string NameOf(int64_t index) const override {
    return absl::StrCat(index, ".png");
  }
  absl::StatusOr<ImagesCard> Describe() const override {
    ImagesCard card;
    card.set_sha256("all");
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    return (torch::arange(range.first, range.end()).view({-1, 1}) +
            torch::arange(side_ * side_))
        .to(at::kByte)
        .view({-1, 1, side_, side_});
  }

 private:
  const int64_t size_;
  const int64_t side_;
};

}  // namespace gandem::testing
