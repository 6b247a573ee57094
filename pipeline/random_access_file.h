// SPDX-License-Identifier: Apache-2.0
//
// A file read by offset: local, in memory, or remote (implemented in remote/).
// Readers of archives use this interface.
//
// Owner: shared by the readers. Thread safety: immutable; Read from any thread.
// Errors: those of common/files/file.h, with the file's name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/shared_bytes.h"

namespace gandem {

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;

  virtual const std::string& name() const = 0;
  // Returns the size when the file was opened.
  virtual int64_t size() const = 0;

  // Returns the bytes [offset, offset + size); neither is negative.
  //   DATA_LOSS  the file is shorter than that.
  virtual absl::StatusOr<std::string> Read(int64_t offset,
                                           int64_t size) const = 0;
};

// Returns INVALID_ARGUMENT for a folder or a named pipe.
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenLocalFile(
    const std::string& path);

// Opens the file anew for each Read, for sources with more files than a process
// may have open. Read returns DATA_LOSS if the size has changed.
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenLocalFileOnDemand(
    const std::string& path);

std::shared_ptr<const RandomAccessFile> FileInMemory(std::string name,
                                                     SharedBytes bytes);

// Wraps a string or vector of bytes without copying the data.
template <typename Bytes>
SharedBytes HeldBytes(Bytes bytes) {
  auto held = std::make_shared<const Bytes>(std::move(bytes));
  const auto view = std::as_bytes(std::span(*held));
  return SharedBytes(std::move(held), view);
}

inline std::shared_ptr<const RandomAccessFile> FileInMemory(std::string name,
                                                            std::string bytes) {
  return FileInMemory(std::move(name), HeldBytes(std::move(bytes)));
}

}  // namespace gandem
