// SPDX-License-Identifier: Apache-2.0
//
// One Parquet file with encoded images: its properties, and the images of a row
// group.
//
// Owner: serve.h. Thread safety: one thread.
// Errors:
//   DATA_LOSS           the file is damaged.
//   INVALID_ARGUMENT    it holds no images, is encrypted, or uses a feature
//                       that Arrow does not read.
//   RESOURCE_EXHAUSTED  a row group does not fit into memory.
#pragma once

#include <arrow/io/interfaces.h>
#include <parquet/arrow/reader.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "extras/parquet/data_frames.h"
#include "extras/parquet/data_worker/image_columns.h"

namespace gandem {

class ParquetShard {
 public:
  // Reads the footer. May throw Parquet exceptions.
  static absl::StatusOr<std::unique_ptr<ParquetShard>> Open(
      std::shared_ptr<arrow::io::RandomAccessFile> file);

  absl::StatusOr<OpenedShard> Describe() const;

  // Returns the payload of kImages. A null image has no bytes.
  absl::StatusOr<std::string> ReadImages(int64_t row_group) const;

 private:
  ParquetShard(std::unique_ptr<parquet::arrow::FileReader> reader,
               ImageColumns columns)
      : reader_(std::move(reader)), columns_(std::move(columns)) {}

  absl::Status AddLabels(OpenedShard& shard) const;
  absl::Status AddPaths(OpenedShard& shard) const;

  const std::unique_ptr<parquet::arrow::FileReader> reader_;
  const ImageColumns columns_;
};

}  // namespace gandem
