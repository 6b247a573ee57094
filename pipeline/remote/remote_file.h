// SPDX-License-Identifier: Apache-2.0
//
// A file behind a network, read in blocks of 1 MiB that are kept
// (shared_cache.h, disk_cache.h). Its version is taken when it is opened (ETag,
// else the time of its last change, and its size) and asked for with each
// request, by If-Match or If-Unmodified-Since, and compared with each answer:
// all that is ever read of it is of one version.
//
// Owner: shared by the readers. Thread safety: any thread.
// Errors: those of RemoteReader, and
//   DATA_LOSS         the file was changed while it was read, or ends
//                     early.
//   INVALID_ARGUMENT  a page for browsers, an empty file, or a server that
//                     cannot give parts of a file and one that is too large to
//                     be held as a whole.
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

// Version of a file. Two answers with the same version are parts of one file.
struct FileVersion {
  std::string etag = {};           // empty: the server names none
  std::string last_modified = {};  // empty: neither
  int64_t size = 0;
};

// Asks for the first block. `store` outlives the file.
absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenRemoteFile(
    RemoteStore& store, const Url& url);

// A file whose version is known from a list; asks for nothing.
std::shared_ptr<const RandomAccessFile> KnownRemoteFile(RemoteStore& store,
                                                        const Url& url,
                                                        FileVersion version);

}  // namespace gandem
