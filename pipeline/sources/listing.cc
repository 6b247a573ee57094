// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/listing.h"

#include "absl/strings/str_cat.h"
#include "common/files/sha256.h"

namespace gandem {
namespace {

// Where names are computed, runs of more images than this have no hash of every
// name: it would have taken them minutes.
constexpr int64_t kMostHashedNames = int64_t{1} << 26;

std::string HashOfEveryName(const ImageStore& source) {
  Sha256 hash;
  for (int64_t i = 0; i < source.size(); ++i) {
    hash.Update(absl::StrCat(source.KeyOf(i), " ", source.LabelOf(i), "\n"));
  }
  hash.Update(absl::StrCat(source.stored_bytes()));
  return hash.Finish();
}

std::string HashOfComputedNames(const ImageStore& source) {
  Sha256 hash;
  hash.Update(absl::StrCat(source.size(), " images\n"));
  for (const int64_t first : source.Units()) {
    hash.Update(absl::StrCat(first, " ", source.KeyOf(first), "\n"));
  }
  if (source.LabelOf(0) != kNoLabel) {
    for (int64_t i = 0; i < source.size(); ++i) {
      hash.Update(absl::StrCat(source.LabelOf(i), "\n"));
    }
  }
  hash.Update(absl::StrCat(source.stored_bytes()));
  return hash.Finish();
}

bool IsOfOlderRelease(const ImageStore& source, absl::string_view expected) {
  return HasComputedNames(source) && source.size() <= kMostHashedNames &&
         HashOfEveryName(source) == expected;
}

}  // namespace

std::string ListingSha256(const ImageStore& source) {
  return HasComputedNames(source) ? HashOfComputedNames(source)
                                  : HashOfEveryName(source);
}

absl::Status CheckListing(const ImageStore& source,
                          absl::string_view expected) {
  if (expected.empty() || ListingSha256(source) == expected ||
      IsOfOlderRelease(source, expected)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "it holds ", source.size(), " images now, and they are not those that ",
      "the run began with (data.listing_sha256): put back what was added, "
      "removed or changed, or begin another run (another --run_dir)"));
}

}  // namespace gandem
