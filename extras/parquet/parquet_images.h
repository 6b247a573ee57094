// SPDX-License-Identifier: Apache-2.0
//
// Images in Parquet files, as the Hugging Face hub has them: a column `image`
// that is struct<bytes, path> or binary, and a column `label`. data_worker
// reads them (extras/parquet/): labels and paths when they are opened, images
// a row group at a time. Row groups that were read lately are kept.
//
// Owner, thread safety: see image_store.h.
// Errors: name the file and the row group, and
//   INVALID_ARGUMENT  no column of images, an encrypted file, no rows, shards
//                     that do not fit together.
//   NOT_FOUND         there is no program data_worker.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "extras/parquet/data_worker_pool.h"
#include "pipeline/image_store.h"
#include "pipeline/trees/location.h"

namespace gandem {

// Has data_workers of `start`, and keeps row groups of up to `cache_bytes`.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenParquet(
    const Location& at, DataWorkerPool::Starter start, int64_t cache_bytes);

}  // namespace gandem
