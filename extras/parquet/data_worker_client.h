// SPDX-License-Identifier: Apache-2.0
//
// gandem's end of a data_worker: sends requests, supplies the bytes of files
// that data_worker asks for, and validates the answers.
//
// Owner: DataWorkerPool. Thread safety: one thread at a time.
// Errors: those of reading the file; faults of the file (DATA_LOSS,
// INVALID_ARGUMENT, RESOURCE_EXHAUSTED); if broken() is true after a call, a
// fault of data_worker.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "extras/parquet/data_frames.h"
#include "extras/parquet/frame_socket.h"
#include "pipeline/random_access_file.h"

namespace gandem {

// A file of a data set. data_worker knows only its number.
struct ShardFile {
  int64_t number = 0;
  std::shared_ptr<const RandomAccessFile> file = nullptr;
};

// The encoded images of a row group.
class RowGroupImages {
 public:
  // `bytes` are the payload of kImages. Errors: see DecodeImages.
  static absl::StatusOr<RowGroupImages> Create(std::string bytes, int64_t rows);

  absl::string_view image(int64_t row) const { return images_[row]; }
  int64_t size() const { return std::ssize(images_); }
  int64_t memory_bytes() const { return std::ssize(*bytes_); }

 private:
  RowGroupImages(std::unique_ptr<const std::string> bytes,
                 std::vector<absl::string_view> images)
      : bytes_(std::move(bytes)), images_(std::move(images)) {}

  std::unique_ptr<const std::string> bytes_;
  std::vector<absl::string_view> images_;  // views into bytes_
};

class DataWorkerClient {
 public:
  explicit DataWorkerClient(FrameSocket socket) : socket_(std::move(socket)) {}

  absl::StatusOr<OpenedShard> Open(const ShardFile& shard);
  // `rows`: number of rows of the row group according to Open.
  absl::StatusOr<RowGroupImages> Read(const ShardFile& shard, int64_t row_group,
                                      int64_t rows);

  // Whether data_worker died, hung or sent an invalid answer. It must not be
  // used again.
  bool broken() const { return broken_; }

 private:
  absl::StatusOr<std::string> Call(const DataFrame& request, FrameKind answer,
                                   const ShardFile& shard);
  absl::Status GiveBytes(const DataFrame& wish, const ShardFile& shard);

  FrameSocket socket_;
  bool broken_ = false;
  absl::Status file_fault_;  // error of reading the file in this call
};

}  // namespace gandem
