// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file by offset, wherever they are: what readers of archives
// ask. A local file and one in memory are here; a remote one implements this.
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

  // Name for messages.
  virtual const std::string& name() const = 0;
  // When it was opened.
  virtual int64_t size() const = 0;

  // The bytes [offset, offset + size); neither is negative.
  //   DATA_LOSS  the file ends before, or has become shorter.
  virtual absl::StatusOr<std::string> Read(int64_t offset,
                                           int64_t size) const = 0;
};

// INVALID_ARGUMENT for a folder or a named pipe.
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenLocalFile(
    const std::string& path);

// Opens the file for each Read only: for more files than a process may have
// open (1,024, mostly). DATA_LOSS if its size has changed since.
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenLocalFileOnDemand(
    const std::string& path);

std::shared_ptr<const RandomAccessFile> FileInMemory(std::string name,
                                                     SharedBytes bytes);

// Keeps a string or vector of bytes without a copy.
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
