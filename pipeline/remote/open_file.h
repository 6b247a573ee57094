// SPDX-License-Identifier: Apache-2.0
//
// Opens files by path or URL.
//
// Thread safety: any thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/random_access_file.h"

namespace gandem {

// Errors of OpenLocalFile or, for URLs, of remote_file.h.
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenFile(
    const std::string& path_or_url);

// Opens one of many files (OpenLocalFileOnDemand for local files).
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenFileOnDemand(
    const std::string& path_or_url);

// Returns whether a file exists: false for NOT_FOUND and for unreadable URLs,
// since S3 denies access to missing objects if the key may not list the bucket.
absl::StatusOr<bool> FileExists(const std::string& path_or_url);

// Reads the first `size` bytes (fewer if the file is shorter).
absl::StatusOr<std::string> ReadFileStart(const std::string& path_or_url,
                                          int64_t size);

// Hashes the whole file: SHA-256 in hex.
absl::StatusOr<std::string> HashOfFile(const std::string& path_or_url);

}  // namespace gandem
