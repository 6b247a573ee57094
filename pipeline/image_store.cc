// SPDX-License-Identifier: Apache-2.0
#include "pipeline/image_store.h"

#include <algorithm>
#include <span>

#include "common/files/sha256.h"

namespace gandem {
namespace {

constexpr int64_t kFingerprintImages = 64;
// Number of images if each requires reading a whole unit.
constexpr int64_t kFingerprintUnits = 8;

}  // namespace

absl::StatusOr<std::string> ImageStore::Fingerprint() const {
  Sha256 hash;
  hash.Update(ListingSha256(*this));
  const int64_t count =
      info_.reads_whole_units ? kFingerprintUnits : kFingerprintImages;
  for (const int64_t index : SpreadPlaces(size(), count)) {
    const absl::StatusOr<std::string> stored = Fetch(index);
    if (IsUnreadable(stored.status())) continue;
    GANDEM_RETURN_IF_ERROR(stored);
    hash.Update(absl::StrCat("image ", stored->size(), " ", *stored));
    if (!stored->empty()) continue;
    // The image is in memory.
    GANDEM_ASSIGN_OR_RETURN(const DecodedImage image, Decode(index, *stored));
    hash.Update(std::as_bytes(std::span(image.pixels.pixels)));
  }
  return hash.Finish();
}

int64_t NumClasses(const ImageStore& source) {
  const std::vector<int64_t>& labels = source.info().labels;
  return labels.empty() ? 0 : *std::ranges::max_element(labels) + 1;
}

std::vector<int64_t> SpreadPlaces(int64_t size, int64_t count) {
  std::vector<int64_t> places;
  const int64_t some = std::min(size, count);
  for (int64_t i = 0; i < some; ++i) places.push_back(i * size / some);
  return places;
}

std::string ListingSha256(const ImageStore& source) {
  Sha256 hash;
  if (HasComputedNames(source)) {
    hash.Update(absl::StrCat(source.size(), " images\n"));
    for (const int64_t first : source.info().units) {
      hash.Update(absl::StrCat(first, " ", source.KeyOf(first), "\n"));
    }
    for (const int64_t label : source.info().labels) {
      hash.Update(absl::StrCat(label, "\n"));
    }
  } else {
    for (int64_t i = 0; i < source.size(); ++i) {
      hash.Update(absl::StrCat(source.KeyOf(i), " ", source.LabelOf(i), "\n"));
    }
  }
  hash.Update(absl::StrCat(source.info().stored_bytes));
  return hash.Finish();
}

absl::Status CheckListing(const ImageStore& source,
                          absl::string_view expected) {
  if (expected.empty() || ListingSha256(source) == expected) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "it holds ", source.size(), " images now, and they are not those that ",
      "the run began with (data.listing_sha256): put back what was added, "
      "removed or changed, or begin another run (another --run_dir)"));
}

}  // namespace gandem
