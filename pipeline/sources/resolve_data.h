// SPDX-License-Identifier: Apache-2.0
//
// Resolves config settings that depend on the images.
//
// Owner, thread safety: pure functions, except for reading images. Errors:
// those of reading images, with advice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image_store.h"

namespace gandem {

class DataConfig;

// Sets the fields that `config` leaves open from `source`, its data.source:
// channels, fit, crop, resize, order. IDX images between half of image_size and
// image_size are padded (MNIST's to 32); all others are cropped centrally and
// resized. Reads images only if necessary.
//   INVALID_ARGUMENT  also: the source has files of an unsupported format; or
//                     its tensors have other channels than the config, a random
//                     crop, or values beyond [-1, 1] without data.tensor_scale.
absl::Status ResolveData(const ImageStore& source, DataConfig& config);

// Resolves the config and describes the source, reading images only once.
absl::StatusOr<std::string> ResolveAndDescribe(const ImageStore& source,
                                               DataConfig& config);

// Returns advice about an unreadable image (WithAdvice of
// pipeline/image_store.h); "" without data.source.
std::string AdviceOnUnreadable(const DataConfig& config);

// Resolves settings without the images: data.order is SHARDS for a URL.
void ResolveOrderUnseen(DataConfig& config);

// Resolves data.order and, for SHARDS, data.shuffle_window. Sources that are
// remote or consist of units are read in cached pieces larger than images
// (KeptBytes). A window covers a quarter of the cache and at most 16,384
// images, so that pieces are not fetched again for each image.
void ResolveOrder(const ImageStore& source, DataConfig& config);

// Shares of data.memory_bytes for remote blocks and whole units.
int64_t BlockBytes(const DataConfig& config);
int64_t UnitBytes(const DataConfig& config);

// Returns a worker's cache size for larger pieces of `source`; nullopt for
// local files, which need none.
std::optional<int64_t> KeptBytes(const ImageStore& source,
                                 const DataConfig& config);

// Returns advice if a shuffle window's pieces exceed the cache, else "".
std::string AdviceOnWindow(const ImageStore& source, const DataConfig& config);

}  // namespace gandem
