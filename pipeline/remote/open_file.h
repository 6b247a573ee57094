// SPDX-License-Identifier: Apache-2.0
//
// Files by name, on this machine or behind a network: what readers of formats
// and sources open.
//
// Thread safety: any thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/random_access_file.h"

namespace gandem {

// Errors of OpenLocalFile or, for a URL, of remote_file.h.
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenFile(
    const std::string& path_or_url);

// Opens one of many files: a local one is opened for each Read only
// (OpenLocalFileOnDemand).
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenFileOnDemand(
    const std::string& path_or_url);

// Whether a file is there. False for NOT_FOUND, and for a URL that may not be
// read: S3 answers so about a missing object if the key may not list the
// bucket. Other failures are errors.
absl::StatusOr<bool> FileExists(const std::string& path_or_url);

// The first bytes: `size`, or fewer where the file is shorter.
absl::StatusOr<std::string> ReadFileStart(const std::string& path_or_url,
                                          int64_t size);

// SHA-256 in hex of the whole file.
absl::StatusOr<std::string> HashOfFile(const std::string& path_or_url);

}  // namespace gandem
