// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker/asked_file.h"

#include <arrow/buffer.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

namespace gandem {

// Returns fewer bytes at the end of the file, like Arrow's own files.
arrow::Result<std::string> AskedFile::Ask(int64_t position, int64_t nbytes) {
  if (position < 0 || nbytes < 0) {
    return arrow::Status::IOError("bytes at a negative place");
  }
  const int64_t size = std::min(nbytes, std::max<int64_t>(0, size_ - position));
  if (size == 0) return std::string();
  if (size > kMaxPayloadBytes) {
    return arrow::Status::IOError("more than ", kMaxPayloadBytes,
                                  " bytes at a time: write the file with "
                                  "smaller row groups");
  }
  const absl::Status asked = socket_.Send({.kind = FrameKind::kReadAt,
                                           .shard = shard_,
                                           .first = position,
                                           .second = size});
  if (!asked.ok()) return arrow::Status::IOError(asked.ToString());
  auto answer = socket_.Receive();
  if (!answer.ok()) return arrow::Status::IOError(answer.status().ToString());
  if (answer->frame.kind != FrameKind::kBytes ||
      answer->frame.payload_bytes != size) {
    return arrow::Status::IOError("the bytes could not be read");
  }
  return std::move(answer->payload);
}

arrow::Result<int64_t> AskedFile::ReadAt(int64_t position, int64_t nbytes,
                                         void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::string bytes, Ask(position, nbytes));
  std::memcpy(out, bytes.data(), bytes.size());
  return std::ssize(bytes);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> AskedFile::ReadAt(
    int64_t position, int64_t nbytes) {
  ARROW_ASSIGN_OR_RAISE(std::string bytes, Ask(position, nbytes));
  return arrow::Buffer::FromString(std::move(bytes));
}

arrow::Result<int64_t> AskedFile::Read(int64_t nbytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t size, ReadAt(position_, nbytes, out));
  position_ += size;
  return size;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> AskedFile::Read(int64_t nbytes) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, nbytes));
  position_ += buffer->size();
  return buffer;
}

arrow::Status AskedFile::Seek(int64_t position) {
  if (position < 0) return arrow::Status::IOError("a negative place");
  position_ = position;
  return arrow::Status::OK();
}

arrow::Status AskedFile::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

}  // namespace gandem
