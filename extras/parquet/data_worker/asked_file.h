// SPDX-License-Identifier: Apache-2.0
//
// A file for Arrow whose bytes are requested over the socket.
//
// Owner: Arrow's readers share it; `socket` outlives the file.
// Thread safety: one thread.
// Errors: IOError. Once the socket has failed, all calls fail.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>

#include "extras/parquet/frame_socket.h"

namespace gandem {

class AskedFile : public arrow::io::RandomAccessFile {
 public:
  AskedFile(FrameSocket& socket, int64_t shard, int64_t size)
      : socket_(socket), shard_(shard), size_(size) {}

  arrow::Result<int64_t> GetSize() override { return size_; }
  using arrow::io::RandomAccessFile::ReadAt;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t nbytes,
                                void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t nbytes) override;
  arrow::Result<int64_t> Read(int64_t nbytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t nbytes) override;
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override;
  arrow::Status Close() override;
  bool closed() const override { return closed_; }

 private:
  arrow::Result<std::string> Ask(int64_t position, int64_t nbytes);

  FrameSocket& socket_;
  const int64_t shard_;
  const int64_t size_;
  int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace gandem
