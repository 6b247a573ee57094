// SPDX-License-Identifier: Apache-2.0
//
// Base class of sources whose images are encoded files (PNG, JPEG, WebP). A
// subclass implements Fetch and the other pure virtual functions.
//
// Owner, thread safety, errors: see image_store.h.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/image_store.h"

namespace gandem {

class EncodedStore : public ImageStore {
 public:
  using ImageStore::ImageStore;

  absl::StatusOr<DecodedImage> Decode(int64_t index,
                                      absl::string_view stored) const final {
    return DecodeAs(ImageReading::kShown, index, stored);
  }
  absl::StatusOr<DecodedImage> DecodePlain(
      int64_t index, absl::string_view stored) const final {
    return DecodeAs(ImageReading::kPlain, index, stored);
  }

  // Independent of the container (folder, archive or Parquet).
  absl::StatusOr<std::string> ContentHash() const final {
    Sha256 hash;
    for (int64_t i = 0; i < size(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(const std::string bytes, Fetch(i));
      // "png" for every format, so that hashes of metric cards stay comparable.
      hash.Update(absl::StrCat("png ", bytes.size(), " "));
      hash.Update(bytes);
    }
    return hash.Finish();
  }

 private:
  absl::StatusOr<DecodedImage> DecodeAs(ImageReading reading, int64_t index,
                                        absl::string_view stored) const {
    absl::StatusOr<DecodedImage> image =
        DecodeImage(stored, kMaxImagePixels, reading);
    if (!image.ok()) return Annotate(image.status(), NameOf(index));
    return image;
  }
};

}  // namespace gandem
