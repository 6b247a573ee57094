// SPDX-License-Identifier: Apache-2.0
//
// A remote file, read in cached blocks of 1 MiB (shared_cache.h, disk_cache.h).
// The version (ETag or else modification time, and size) is fixed when the file
// is opened, requested with If-Match or If-Unmodified-Since and verified in
// each answer, so that all data are of one version.
//
// Owner: shared by the readers. Thread safety: any thread.
// Errors: those of RemoteReader, and
//   DATA_LOSS         the file changed during reading or ends early.
//   INVALID_ARGUMENT  an HTML page, an empty file, or a server without range
//                     support and a file too large to hold in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/random_access_file.h"
#include "pipeline/remote/url.h"

namespace gandem {

class RemoteStore;

inline constexpr int64_t kBlockBytes = int64_t{1} << 20;

// Identifies the content of a file.
struct FileVersion {
  std::string etag = {};           // empty: not sent by the server
  std::string last_modified = {};  // empty: not sent by the server
  int64_t size = 0;
};

// Requests the first block. `store` outlives the file.
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenRemoteFile(
    RemoteStore& store, const Url& url);

// Makes a file of known version and size, without a request.
std::shared_ptr<const RandomAccessFile> KnownRemoteFile(RemoteStore& store,
                                                        const Url& url,
                                                        FileVersion version);

}  // namespace gandem
