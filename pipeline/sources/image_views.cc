// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/image_views.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"

namespace gandem {
namespace {

// Base class of views: image i is Show(image PlaceOf(i) of the source).
class ImageView : public ImageStore {
 public:
  ImageView(SourceInfo info, std::shared_ptr<const ImageStore> source)
      : ImageStore(std::move(info)), source_(std::move(source)) {}

  std::string NameOf(int64_t index) const override {
    return source_->NameOf(PlaceOf(index));
  }
  std::string KeyOf(int64_t index) const override {
    return source_->KeyOf(PlaceOf(index));
  }
  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    return source_->Fetch(PlaceOf(index));
  }
  absl::StatusOr<DecodedImage> Decode(int64_t index,
                                      absl::string_view stored) const override {
    GANDEM_ASSIGN_OR_RETURN(DecodedImage image,
                            source_->Decode(PlaceOf(index), stored));
    return Show(index, std::move(image));
  }
  absl::StatusOr<DecodedImage> DecodePlain(
      int64_t index, absl::string_view stored) const override {
    GANDEM_ASSIGN_OR_RETURN(DecodedImage image,
                            source_->DecodePlain(PlaceOf(index), stored));
    return Show(index, std::move(image));
  }
  absl::StatusOr<std::string> ContentHash() const override {
    return source_->ContentHash();
  }

 protected:
  virtual int64_t PlaceOf(int64_t index) const { return index; }
  virtual absl::StatusOr<DecodedImage> Show(int64_t /*index*/,
                                            DecodedImage image) const {
    return image;
  }

 private:
  const std::shared_ptr<const ImageStore> source_;
};

class FewerImages : public ImageView {
 public:
  FewerImages(SourceInfo info, std::shared_ptr<const ImageStore> source,
              std::vector<int64_t> kept)
      : ImageView(std::move(info), std::move(source)), kept_(std::move(kept)) {}

  // Hashes only the remaining images, since the others may be unreadable.
  absl::StatusOr<std::string> ContentHash() const override {
    Sha256 hash;
    for (int64_t i = 0; i < size(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(const std::string stored, Fetch(i));
      hash.Update(absl::StrCat("image ", kept_[i], " ", stored.size(), " "));
      hash.Update(stored);
      if (!stored.empty()) continue;
      // If nothing is stored, the pixels are in memory.
      GANDEM_ASSIGN_OR_RETURN(const DecodedImage image, Decode(i, stored));
      hash.Update(std::as_bytes(std::span(image.pixels.pixels)));
    }
    return hash.Finish();
  }

 protected:
  int64_t PlaceOf(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    return kept_[index];
  }

 private:
  const std::vector<int64_t> kept_;  // indices in the source
};

class HalfImages : public ImageView {
 public:
  HalfImages(SourceInfo info, std::shared_ptr<const ImageStore> source,
             ImageHalf half)
      : ImageView(std::move(info), std::move(source)), half_(half) {}

 protected:
  absl::StatusOr<DecodedImage> Show(int64_t index,
                                    DecodedImage image) const override {
    const PixelImage& whole = image.pixels;
    if (whole.width % 2 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(index), ": ", whole.width,
                       " pixels wide, and two halves side by side are expected "
                       "(data.side_by_side)"));
    }
    PixelImage part = {.channels = whole.channels,
                       .height = whole.height,
                       .width = whole.width / 2};
    const int64_t row_bytes = part.width * part.channels;
    part.pixels.reserve(static_cast<size_t>(part.height * row_bytes));
    const uint8_t* row =
        whole.pixels.data() + (half_ == ImageHalf::kLeft ? 0 : row_bytes);
    for (int64_t y = 0; y < part.height; ++y, row += 2 * row_bytes) {
      part.pixels.insert(part.pixels.end(), row, row + row_bytes);
    }
    image.pixels = std::move(part);
    return image;
  }

 private:
  const ImageHalf half_;
};

}  // namespace

absl::StatusOr<std::vector<int64_t>> FindImages(
    const ImageStore& source, const std::vector<std::string>& keys) {
  std::vector<int64_t> places;
  std::vector<bool> found(keys.size());
  for (int64_t i = 0; i < source.size(); ++i) {
    const std::string key = source.KeyOf(i);
    const auto at = std::ranges::lower_bound(keys, key);
    if (at == keys.end() || *at != key) continue;
    if (found[at - keys.begin()]) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", key, "' is the name of several images of the ",
                       "source: give its shards names of their own"));
    }
    found[at - keys.begin()] = true;
    places.push_back(i);
  }
  const auto missing = std::ranges::find(found, false);
  if (missing != found.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no image of the source is called '", keys[missing - found.begin()],
        "', as '", source.KeyOf(0),
        "' is: it is the list of another source, or of what it was; make it "
        "anew with `gandem dataset verify SOURCE --exclude LIST`"));
  }
  if (std::ssize(places) == source.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it leaves out all ", source.size(), " images"));
  }
  return places;
}

std::unique_ptr<ImageStore> LeaveOut(std::shared_ptr<const ImageStore> source,
                                     const std::vector<int64_t>& left_out) {
  const SourceInfo& whole = source->info();
  SourceInfo info = whole;
  info.labels.clear();
  std::vector<int64_t> kept;
  auto next = left_out.begin();
  for (int64_t i = 0; i < whole.size; ++i) {
    if (next != left_out.end() && *next == i) {
      ++next;
      continue;
    }
    kept.push_back(i);
    if (!whole.labels.empty()) info.labels.push_back(whole.labels[i]);
  }
  GANDEM_CHECK(next == left_out.end() && !kept.empty());
  info.size = std::ssize(kept);
  info.left_out = std::ssize(left_out);
  // Drop units without images.
  info.units.clear();
  for (const int64_t first : whole.units) {
    const int64_t place = std::ranges::lower_bound(kept, first) - kept.begin();
    if (place == info.size) break;
    if (info.units.empty() || info.units.back() != place) {
      info.units.push_back(place);
    }
  }
  return std::make_unique<FewerImages>(std::move(info), std::move(source),
                                       std::move(kept));
}

std::unique_ptr<ImageStore> HalfOf(std::shared_ptr<const ImageStore> source,
                                   ImageHalf half) {
  SourceInfo info = source->info();
  if (info.common_shape.has_value()) info.common_shape->width /= 2;
  return std::make_unique<HalfImages>(std::move(info), std::move(source), half);
}

}  // namespace gandem
