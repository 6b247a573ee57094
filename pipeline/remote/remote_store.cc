// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/remote_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "pipeline/remote/remote_file.h"

namespace gandem {
namespace {

// Maximum number of remembered files; others are requested anew.
constexpr size_t kMostOpened = 4096;
constexpr int64_t kMaxPageBytes = 16 << 20;
constexpr size_t kMostObjects = size_t{1} << 26;

// Builds a sorted query with '=' after each name, as signatures require.
std::string ListQuery(absl::string_view prefix, absl::string_view continuation,
                      size_t most) {
  const auto value = [](absl::string_view text) {
    return PercentEncode(text, /*keep_slash=*/false);
  };
  return absl::StrCat(
      continuation.empty()
          ? ""
          : absl::StrCat("continuation-token=", value(continuation), "&"),
      "encoding-type=url&list-type=2&",
      most > 0 && most < 1000 ? absl::StrCat("max-keys=", most, "&") : "",
      "prefix=", value(prefix));
}

}  // namespace

RemoteStore::RemoteStore(RemoteTimes times)
    : times_(times), reader_(times.http), blocks_(RemoteCaches().block_bytes) {}

void RemoteStore::SetCaches(const RemoteCaches& caches) {
  absl::MutexLock lock(&mu_);
  // Memory reserved for whole files stays reserved.
  blocks_.Resize(caches.block_bytes - caches_.block_bytes);
  if (caches.disk_folder.empty()) {
    disk_ = nullptr;
  } else if (disk_ == nullptr || caches.disk_folder != caches_.disk_folder ||
             caches.disk_bytes != caches_.disk_bytes) {
    disk_ = std::make_shared<DiskCache>(caches.disk_folder, caches.disk_bytes);
  }
  caches_ = caches;
}

std::shared_ptr<DiskCache> RemoteStore::disk() const {
  absl::MutexLock lock(&mu_);
  return disk_;
}

int64_t RemoteStore::max_whole_bytes() const {
  absl::MutexLock lock(&mu_);
  return caches_.block_bytes / 2;
}

absl::StatusOr<std::shared_ptr<const RandomAccessFile>> RemoteStore::Open(
    absl::string_view url) {
  GANDEM_ASSIGN_OR_RETURN(const Url parsed, ParseUrl(url));
  const std::string key = UrlText(parsed);
  {
    absl::MutexLock lock(&mu_);
    const auto found = opened_.find(key);
    if (found != opened_.end()) return found->second;
  }
  GANDEM_ASSIGN_OR_RETURN(auto file, OpenRemoteFile(*this, parsed));
  absl::MutexLock lock(&mu_);
  if (opened_.size() >= kMostOpened) opened_.clear();
  opened_[key] = file;
  return file;
}

void RemoteStore::Forget(const Url& url) {
  absl::MutexLock lock(&mu_);
  opened_.erase(UrlText(url));
}

absl::StatusOr<std::vector<S3Object>> RemoteStore::List(const Url& url,
                                                        size_t most) {
  const std::string name = absl::StrCat("'", ShownUrl(UrlText(url)), "'");
  if (url.scheme != UrlScheme::kS3) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        " names a folder, and HTTP has no lists of files: name a file, "
        "such as a zip or shards (name-{000000..000009}.tar), or use s3://"));
  }
  Url bucket = url;
  bucket.path = std::string("/");  // g++ 12 warns about "/" alone
  RemoteLocation location(bucket);
  std::vector<S3Object> objects;
  std::string continuation;
  do {
    GANDEM_ASSIGN_OR_RETURN(
        const HttpAnswer answer,
        reader_.Get(
            location,
            {.max_whole = kMaxPageBytes,
             .query = ListQuery(url.path.substr(1), continuation, most)},
            times_.open));
    auto page = ParseS3Page(answer.body);
    if (!page.ok()) return Annotate(page.status(), name);
    std::move(page->objects.begin(), page->objects.end(),
              std::back_inserter(objects));
    if (objects.size() > kMostObjects ||
        (!continuation.empty() && page->continuation == continuation)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          name, ": its list does not end; name a folder of fewer files"));
    }
    continuation = std::move(page->continuation);
  } while (!continuation.empty() && (most == 0 || objects.size() < most));
  return objects;
}

RemoteStore& ProcessRemoteStore() {
  static RemoteStore* const store = new RemoteStore;
  return *store;
}

}  // namespace gandem
