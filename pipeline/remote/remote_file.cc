// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/remote_file.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/sha256.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "pipeline/io_counters.h"
#include "pipeline/remote/answer_verdict.h"
#include "pipeline/remote/remote_store.h"
#include "pipeline/unreadable.h"

namespace gandem {
namespace {

std::string HashText(absl::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return hash.Finish();
}

std::string VersionText(const FileVersion& version) {
  return absl::StrCat(version.etag, "\n", version.last_modified, "\n",
                      version.size);
}

// Weak ETags (W/"...") never match in If-Match (RFC 9110 section 13.1.1).
std::vector<std::string> ConditionsOf(const FileVersion& version) {
  if (version.etag.size() >= 2 && version.etag.front() == '"') {
    return {absl::StrCat("If-Match: ", version.etag)};
  }
  if (version.last_modified.empty()) return {};
  return {absl::StrCat("If-Unmodified-Since: ", version.last_modified)};
}

class RemoteFile : public RandomAccessFile {
 public:
  RemoteFile(RemoteStore& store, std::shared_ptr<RemoteLocation> location,
             FileVersion version)
      : store_(store),
        location_(std::move(location)),
        name_(ShownUrl(UrlText(location_->url()))),
        version_(std::move(version)),
        memory_name_(HashText(absl::StrCat(UrlText(location_->url()), "\n",
                                           VersionText(version_)))),
        disk_name_(DiskName()) {}

  const std::string& name() const override { return name_; }
  int64_t size() const override { return version_.size; }
  absl::StatusOr<std::string> Read(int64_t offset, int64_t size) const override;

  // Caches the first block, which was received when opening.
  void Keep(PagedString first_block) const;

 private:
  int64_t BytesOf(int64_t block) const {
    return std::min(kBlockBytes, version_.size - block * kBlockBytes);
  }
  // Name without the query, which may be a signature; empty: the headers cannot
  // distinguish files or versions.
  std::string DiskName() const {
    const Url& url = location_->url();
    if (version_.etag.empty() &&
        (version_.last_modified.empty() || !url.query.empty())) {
      return "";
    }
    return HashText(absl::StrCat(name_, "\n", VersionText(version_)));
  }
  std::string DiskNameOf(int64_t block) const {
    return absl::StrCat(disk_name_, "-", block);
  }
  absl::StatusOr<PagedString> FetchBlock(int64_t block) const;
  absl::StatusOr<PagedString> FindBlock(int64_t block) const;
  absl::StatusOr<PagedString> Request(int64_t first, int64_t size) const;
  absl::Status CheckAnswer(const HttpAnswer& answer, int64_t first,
                           int64_t size) const;
  absl::Status Changed(absl::string_view what) const;

  // Never change after construction.
  RemoteStore& store_;
  const std::shared_ptr<RemoteLocation> location_;
  const std::string name_;
  const FileVersion version_;
  const std::string memory_name_;
  const std::string disk_name_;
};

absl::StatusOr<std::string> RemoteFile::Read(int64_t offset,
                                             int64_t size) const {
  if (offset > version_.size || size > version_.size - offset) {
    return absl::DataLossError(absl::StrCat("'", name_,
                                            "' is cut off: it lacks ", size,
                                            " bytes at byte ", offset));
  }
  std::string bytes;
  // Does not trust `size` for large allocations.
  bytes.reserve(static_cast<size_t>(std::min(size, 64 * kBlockBytes)));
  for (int64_t at = offset; at < offset + size;) {
    const int64_t block = at / kBlockBytes;
    // Twice the timeout of a fetch, because a fetch may also wait for room.
    GANDEM_ASSIGN_OR_RETURN(
        const BlockCache::Piece found,
        store_.blocks().Get({memory_name_, block}, BytesOf(block),
                            MonotonicNow() + 2 * store_.times().read,
                            [&] { return FetchBlock(block); }));
    const absl::string_view rest =
        absl::string_view(*found).substr(at % kBlockBytes);
    const int64_t used = std::min(offset + size - at, std::ssize(rest));
    bytes.append(rest.data(), static_cast<size_t>(used));
    at += used;
  }
  return bytes;
}

void RemoteFile::Keep(PagedString first_block) const {
  const auto disk = store_.disk();
  if (disk != nullptr && !disk_name_.empty()) {
    disk->Write(DiskNameOf(0), first_block);
  }
  store_.blocks()
      .Get({memory_name_, 0}, BytesOf(0), absl::InfinitePast(),
           [&]() -> absl::StatusOr<PagedString> {
             return std::move(first_block);
           })
      .status()
      .IgnoreError();  // no room: it is fetched again
}

absl::StatusOr<PagedString> RemoteFile::FetchBlock(int64_t block) const {
  // Server and network errors are not the fault of an image.
  absl::StatusOr<PagedString> bytes = FindBlock(block);
  return bytes.ok() ? std::move(bytes) : NotOfContent(bytes.status());
}

absl::StatusOr<PagedString> RemoteFile::FindBlock(int64_t block) const {
  const auto disk = disk_name_.empty() ? nullptr : store_.disk();
  if (disk != nullptr) {
    auto found = disk->Read(DiskNameOf(block), BytesOf(block));
    if (found.has_value()) {
      ProcessIoCounters().cache_hits.fetch_add(1);
      return *std::move(found);
    }
    ProcessIoCounters().cache_misses.fetch_add(1);
  }
  auto bytes = Request(block * kBlockBytes, BytesOf(block));
  if (!bytes.ok()) {
    // Reopening the file yields its new version.
    if (absl::IsDataLoss(bytes.status())) store_.Forget(location_->url());
    return bytes.status();
  }
  if (disk != nullptr) disk->Write(DiskNameOf(block), *bytes);
  return bytes;
}

absl::StatusOr<PagedString> RemoteFile::Request(int64_t first,
                                                int64_t size) const {
  GANDEM_ASSIGN_OR_RETURN(
      HttpAnswer answer,
      store_.reader().Get(*location_,
                          {.first = first,
                           .size = size,
                           .conditions = ConditionsOf(version_),
                           .check =
                               [&](const HttpAnswer& given) {
                                 return CheckAnswer(given, first, size);
                               }},
                          store_.times().read));
  return std::move(answer.body);
}

absl::Status RemoteFile::CheckAnswer(const HttpAnswer& answer, int64_t first,
                                     int64_t size) const {
  const HttpHeaders& headers = answer.headers;
  if (!version_.etag.empty() && headers.etag != version_.etag) {
    return Changed(
        absl::StrCat("its ETag was ", version_.etag, " and is ", headers.etag));
  }
  if (version_.etag.empty() && !version_.last_modified.empty() &&
      headers.last_modified != version_.last_modified) {
    return Changed(absl::StrCat("it was of ", version_.last_modified,
                                " and is of ", headers.last_modified));
  }
  if (answer.status != 206 || !headers.range.has_value()) {
    return absl::UnavailableError(absl::StrCat(
        "'", name_, "': the server gave parts of it and does not any more"));
  }
  if (headers.range->total != version_.size) {
    return Changed(absl::StrCat("it had ", version_.size, " bytes and has ",
                                headers.range->total));
  }
  if (headers.range->first != first || std::ssize(answer.body) != size) {
    return absl::UnavailableError(
        absl::StrCat("'", name_, "': asked for ", size, " bytes at byte ",
                     first, ", the server gave ", answer.body.size(),
                     " at byte ", headers.range->first));
  }
  return absl::OkStatus();
}

absl::Status RemoteFile::Changed(absl::string_view what) const {
  return absl::DataLossError(
      absl::StrCat("'", name_, "' was changed while it was read (", what,
                   "): start again, on files that stay as they are"));
}

// A file in memory, from a server without range support.
class WholeFile : public RandomAccessFile {
 public:
  WholeFile(RemoteStore& store, std::string name, PagedString bytes)
      : store_(store),
        reserved_(std::ssize(bytes)),
        file_(FileInMemory(std::move(name), HeldBytes(std::move(bytes)))) {}
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile() override { store_.blocks().Release(reserved_); }

  const std::string& name() const override { return file_->name(); }
  int64_t size() const override { return file_->size(); }
  absl::StatusOr<std::string> Read(int64_t offset,
                                   int64_t size) const override {
    return file_->Read(offset, size);
  }

 private:
  // Never change after construction.
  RemoteStore& store_;
  const int64_t reserved_;
  const std::shared_ptr<const RandomAccessFile> file_;
};

absl::Status CannotOpen(const std::string& name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' ", why));
}

absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenWhole(
    RemoteStore& store, const std::string& name, HttpAnswer answer) {
  const int64_t bytes = std::ssize(answer.body);
  if (answer.more || !store.blocks().Reserve(bytes)) {
    return CannotOpen(
        name, absl::StrCat("can only be had as a whole (the server ignores "
                           "Range), and has more than the ",
                           store.max_whole_bytes(),
                           " bytes that may be held: copy it to this machine, "
                           "or raise data.memory_bytes"));
  }
  return std::make_shared<const WholeFile>(store, name, std::move(answer.body));
}

absl::Status CheckFirstAnswer(const std::string& name,
                              const HttpAnswer& answer) {
  const auto& range = answer.headers.range;
  if (answer.status != 206 || !range.has_value() || range->first != 0) {
    return absl::OkStatus();  // reported by the caller: a retry does not help
  }
  const int64_t expected = std::min(kBlockBytes, range->total);
  if (std::ssize(answer.body) == expected) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "'", name, "': the server gave ", answer.body.size(), " of the first ",
      expected, " bytes, and said that it was all of them"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenRemoteFile(
    RemoteStore& store, const Url& url) {
  auto location = std::make_shared<RemoteLocation>(url);
  const std::string name = ShownUrl(UrlText(url));
  absl::StatusOr<HttpAnswer> answer =
      store.reader().Get(*location,
                         {.first = 0,
                          .size = kBlockBytes,
                          .max_whole = store.max_whole_bytes(),
                          .check =
                              [&](const HttpAnswer& given) {
                                return CheckFirstAnswer(name, given);
                              }},
                         store.times().open);
  if (!answer.ok()) return answer.status();
  if (IsWebPage(answer->body)) {
    return CannotOpen(
        name,
        "is a web page (a login, or a page about the file), not the file: name "
        "the URL that a download has, or copy the file");
  }
  if (answer->body.empty()) return CannotOpen(name, "is an empty file");
  const HttpHeaders& headers = answer->headers;
  if (answer->status == 200) return OpenWhole(store, name, *std::move(answer));
  if (!headers.range.has_value() || headers.range->first != 0) {
    return CannotOpen(name,
                      "cannot be read in parts: the server's Content-Range is "
                      "not that of what was asked for; copy the file");
  }
  auto file = std::make_shared<const RemoteFile>(
      store, std::move(location),
      FileVersion{.etag = headers.etag,
                  .last_modified = headers.last_modified,
                  .size = headers.range->total});
  file->Keep(std::move(answer->body));
  return file;
}

std::shared_ptr<const RandomAccessFile> KnownRemoteFile(RemoteStore& store,
                                                        const Url& url,
                                                        FileVersion version) {
  return std::make_shared<const RemoteFile>(
      store, std::make_shared<RemoteLocation>(url), std::move(version));
}

}  // namespace gandem
