// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/open_file.h"

#include <algorithm>

#include "common/files/file.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/remote/remote_store.h"
#include "pipeline/remote/url.h"

namespace gandem {
namespace {

constexpr int64_t kHashedAtOnce = 4 << 20;

}  // namespace

absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenFile(
    const std::string& path_or_url) {
  return IsUrl(path_or_url) ? ProcessRemoteStore().Open(path_or_url)
                            : OpenLocalFile(path_or_url);
}

absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenFileOnDemand(
    const std::string& path_or_url) {
  return IsUrl(path_or_url) ? ProcessRemoteStore().Open(path_or_url)
                            : OpenLocalFileOnDemand(path_or_url);
}

absl::StatusOr<bool> FileExists(const std::string& path_or_url) {
  if (!IsUrl(path_or_url)) return PathExists(path_or_url);
  const absl::Status opened = OpenFile(path_or_url).status();
  if (absl::IsNotFound(opened) || absl::IsPermissionDenied(opened)) {
    return false;
  }
  if (!opened.ok()) return opened;
  return true;
}

absl::StatusOr<std::string> ReadFileStart(const std::string& path_or_url,
                                          int64_t size) {
  GANDEM_ASSIGN_OR_RETURN(const auto file, OpenFile(path_or_url));
  return file->Read(0, std::min(size, file->size()));
}

absl::StatusOr<std::string> HashOfFile(const std::string& path_or_url) {
  GANDEM_ASSIGN_OR_RETURN(const auto file, OpenFile(path_or_url));
  Sha256 hash;
  for (int64_t at = 0; at < file->size(); at += kHashedAtOnce) {
    GANDEM_ASSIGN_OR_RETURN(
        const std::string bytes,
        file->Read(at, std::min(kHashedAtOnce, file->size() - at)));
    hash.Update(bytes);
  }
  return hash.Finish();
}

}  // namespace gandem
