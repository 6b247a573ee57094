// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "pipeline/remote/remote_file.h"
#include "pipeline/remote/remote_store.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

class S3Tree : public FileTree {
 public:
  S3Tree(Url folder, std::vector<S3Object> objects, UnusedFiles unused)
      : folder_(std::move(folder)),
        path_(UrlText(folder_)),
        unused_(std::move(unused)) {
    const size_t prefix = folder_.path.size() - 1;  // keys have no first '/'
    std::ranges::sort(objects, {}, &S3Object::key);
    for (S3Object& object : objects) {
      files_.push_back(
          {.name = object.key.substr(prefix), .bytes = object.bytes});
      etags_.push_back(std::move(object.etag));
    }
  }

  std::string kind() const override { return "a folder of images in S3"; }
  const std::string& path() const override { return path_; }
  const std::vector<TreeFile>& files() const override { return files_; }
  std::string NameOf(int64_t file) const override {
    return absl::StrCat(path_, files_[file].name);
  }
  UnusedFiles unused() const override { return unused_; }
  absl::StatusOr<std::string> Read(int64_t file) const override {
    return ReadStart(file, files_[file].bytes);
  }
  absl::StatusOr<std::string> ReadStart(int64_t file,
                                        int64_t size) const override {
    Url url = folder_;
    url.path += files_[file].name;
    const int64_t bytes = files_[file].bytes;
    return KnownRemoteFile(ProcessRemoteStore(), url,
                           {.etag = etags_[file], .size = bytes})
        ->Read(0, std::min(size, bytes));
  }

 private:
  // Never change after construction.
  const Url folder_;
  const std::string path_;
  const UnusedFiles unused_;
  std::vector<TreeFile> files_;
  std::vector<std::string> etags_;  // of files_
};

// As in a folder: names that begin with a point do not count.
bool IsHidden(absl::string_view name) {
  return absl::StartsWith(name, ".") || absl::StrContains(name, "/.");
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileTree>> OpenS3Tree(const std::string& url) {
  GANDEM_ASSIGN_OR_RETURN(Url folder, ParseUrl(url));
  GANDEM_ASSIGN_OR_RETURN(std::vector<S3Object> objects,
                          ProcessRemoteStore().List(folder, /*most=*/0));
  const size_t prefix = folder.path.size() - 1;
  // An object may stand for a folder.
  std::erase_if(objects, [&](const S3Object& object) {
    return object.key.size() <= prefix || absl::EndsWith(object.key, "/");
  });
  UnusedFiles unused;
  const auto hidden = std::erase_if(objects, [&](const S3Object& object) {
    return IsHidden(absl::string_view(object.key).substr(prefix));
  });
  if (hidden > 0) unused["hidden"] = static_cast<int64_t>(hidden);
  return std::make_unique<S3Tree>(std::move(folder), std::move(objects),
                                  std::move(unused));
}

}  // namespace gandem
