// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/left_out_images.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "common/check.h"
#include "common/files/sha256.h"

namespace gandem {
namespace {

class FewerImages : public ImageStore {
 public:
  FewerImages(std::unique_ptr<const ImageStore> source,
              const std::vector<int64_t>& left_out)
      : source_(std::move(source)), left_out_(std::ssize(left_out)) {
    auto next = left_out.begin();
    for (int64_t i = 0; i < source_->size(); ++i) {
      if (next != left_out.end() && *next == i) {
        ++next;
      } else {
        kept_.push_back(i);
      }
    }
    GANDEM_CHECK(next == left_out.end() && !kept_.empty());
  }

  std::string kind() const override { return source_->kind(); }
  int64_t size() const override { return std::ssize(kept_); }
  int64_t left_out() const override { return left_out_; }
  UnusedFiles unused() const override { return source_->unused(); }
  std::optional<ImageShape> common_shape() const override {
    return source_->common_shape();
  }
  std::optional<StoredFormat> tensors() const override {
    return source_->tensors();
  }
  std::string NameOf(int64_t index) const override {
    return source_->NameOf(kept_[index]);
  }
  int64_t stored_bytes() const override { return source_->stored_bytes(); }
  bool reads_whole_units() const override {
    return source_->reads_whole_units();
  }
  std::string KeyOf(int64_t index) const override {
    return source_->KeyOf(kept_[index]);
  }
  int64_t LabelOf(int64_t index) const override {
    return source_->LabelOf(kept_[index]);
  }
  const std::vector<std::string>& class_names() const override {
    return source_->class_names();
  }
  std::string unused_labels() const override {
    return source_->unused_labels();
  }
  // A unit of which nothing is left is none.
  std::vector<int64_t> Units() const override {
    std::vector<int64_t> firsts;
    for (const int64_t first : source_->Units()) {
      const int64_t place =
          std::ranges::lower_bound(kept_, first) - kept_.begin();
      if (!firsts.empty() && firsts.back() == place) continue;
      if (place < size()) firsts.push_back(place);
    }
    return firsts;
  }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    return source_->Fetch(kept_[index]);
  }
  absl::StatusOr<std::optional<std::string>> FetchStart(
      int64_t index, int64_t most) const override {
    return source_->FetchStart(kept_[index], most);
  }
  absl::StatusOr<DecodedImage> Decode(int64_t index,
                                      absl::string_view stored) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    return source_->Decode(kept_[index], stored);
  }
  absl::StatusOr<DecodedImage> DecodePlain(
      int64_t index, absl::string_view stored) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    return source_->DecodePlain(kept_[index], stored);
  }

  // Never of those that are left out: they may be impossible to read.
  absl::StatusOr<std::string> ContentHash() const override {
    Sha256 hash;
    for (int64_t i = 0; i < size(); ++i) {
      GANDEM_RETURN_IF_ERROR(HashImage(i, hash));
    }
    return hash.Finish();
  }
  absl::StatusOr<std::string> Fingerprint() const override {
    Sha256 hash;
    for (int64_t i = 0; i < size(); ++i) {
      hash.Update(absl::StrCat(kept_[i], " ", KeyOf(i), " ", LabelOf(i), "\n"));
    }
    const int64_t count = std::min(size(), kFingerprintImages);
    for (int64_t i = 0; i < count; ++i) {
      GANDEM_RETURN_IF_ERROR(HashImage(i * size() / count, hash));
    }
    return hash.Finish();
  }

 private:
  // Of what is in memory, where nothing is stored, the pixels.
  absl::Status HashImage(int64_t index, Sha256& hash) const {
    GANDEM_ASSIGN_OR_RETURN(const std::string stored, Fetch(index));
    hash.Update(absl::StrCat("image ", kept_[index], " ", stored.size(), " "));
    hash.Update(stored);
    if (!stored.empty()) return absl::OkStatus();
    GANDEM_ASSIGN_OR_RETURN(const DecodedImage image, Decode(index, stored));
    hash.Update(std::as_bytes(std::span(image.pixels.pixels)));
    return absl::OkStatus();
  }

  // Never change after construction.
  const std::unique_ptr<const ImageStore> source_;
  const int64_t left_out_;
  std::vector<int64_t> kept_;  // places in source_
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

std::unique_ptr<ImageStore> LeaveOut(std::unique_ptr<const ImageStore> source,
                                     const std::vector<int64_t>& left_out) {
  return std::make_unique<FewerImages>(std::move(source), left_out);
}

}  // namespace gandem
