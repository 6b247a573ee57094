// SPDX-License-Identifier: Apache-2.0
//
// gandem's end of a data_worker: requests, the bytes of files that it asks back
// for, and answers, of which nothing is believed that was not checked.
//
// Owner: DataWorkerPool. Thread safety: one thread at a time.
// Errors: those of reading the file; what is wrong with it (DATA_LOSS,
// INVALID_ARGUMENT, RESOURCE_EXHAUSTED); where broken() is true after a call,
// what is wrong with data_worker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "extras/parquet/data_frames.h"
#include "extras/parquet/frame_socket.h"
#include "pipeline/random_access_file.h"

namespace gandem {

// A file of a data set, which data_worker knows by its number only.
struct ShardFile {
  int64_t number = 0;
  std::shared_ptr<const RandomAccessFile> file = nullptr;
};

// The encoded images of a row group, in memory that data_worker filled.
class RowGroupImages {
 public:
  RowGroupImages(SealedBytes bytes, std::vector<absl::string_view> images)
      : bytes_(std::move(bytes)), images_(std::move(images)) {}

  absl::string_view image(int64_t row) const { return images_[row]; }
  int64_t size() const { return std::ssize(images_); }
  // What it keeps in memory.
  int64_t memory_bytes() const { return std::ssize(bytes_.bytes()); }

 private:
  SealedBytes bytes_;
  std::vector<absl::string_view> images_;
};

class DataWorkerClient {
 public:
  // `patience`: how long data_worker may compute for one call. Time in which it
  // waits for the bytes of a file is the file's.
  DataWorkerClient(FrameSocket socket, absl::Duration patience)
      : socket_(std::move(socket)), patience_(patience) {}

  absl::StatusOr<OpenedShard> Open(const ShardFile& shard);
  // `rows`: as many as Open said.
  absl::StatusOr<RowGroupImages> Read(const ShardFile& shard, int64_t row_group,
                                      int64_t rows);

  // It is dead, hangs, or answers what no data_worker of ours does: of no more
  // use.
  bool broken() const { return broken_; }

 private:
  absl::StatusOr<SealedBytes> Call(const DataFrame& request, FrameKind answer,
                                   const ShardFile& shard);
  absl::StatusOr<SealedBytes> Exchange(const DataFrame& request,
                                       FrameKind answer,
                                       const ShardFile& shard);
  absl::Status GiveBytes(const DataFrame& wish, const ShardFile& shard,
                         Patience& patience);
  absl::Status TakeFailure(const DataFrame& frame, Patience& patience);

  FrameSocket socket_;
  const absl::Duration patience_;
  bool broken_ = false;
  absl::Status file_fault_;    // of this call
  int64_t bytes_to_give_ = 0;  // in this call
};

}  // namespace gandem
