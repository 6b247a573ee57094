// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/listing.h"

#include "absl/strings/str_cat.h"
#include "common/files/sha256.h"

namespace gandem {

std::string ListingSha256(const ImageStore& source) {
  Sha256 hash;
  for (int64_t i = 0; i < source.size(); ++i) {
    hash.Update(absl::StrCat(source.KeyOf(i), " ", source.LabelOf(i), "\n"));
  }
  hash.Update(absl::StrCat(source.stored_bytes()));
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
