// SPDX-License-Identifier: Apache-2.0
//
// Images in Parquet files of the Hugging Face hub's layout: a column `image`
// that is struct<bytes, path> or binary, and a column `label`. data_worker
// reads labels and paths when a file is opened, and images by row group.
// Recently read row groups are cached.
//
// Owner, thread safety: see image_store.h.
// Errors: name the file and the row group, and
//   INVALID_ARGUMENT  no column of images, an encrypted file, no rows, or
//                     shards that do not fit together.
//   NOT_FOUND         the program data_worker is missing.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "extras/parquet/data_worker_pool.h"
#include "pipeline/image_store.h"
#include "pipeline/trees/location.h"

namespace gandem {

// Starts data_workers with `start`, and caches row groups of up to
// `cache_bytes`.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenParquet(
    const Location& at, DataWorkerPool::Starter start, int64_t cache_bytes);

}  // namespace gandem
