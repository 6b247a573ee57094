// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "pipeline/remote/remote_file.h"
#include "pipeline/remote/remote_store.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

class S3Tree : public FileTree {
 public:
  S3Tree(Url folder, std::vector<S3Object> objects)
      : folder_(std::move(folder)), path_(UrlText(folder_)) {
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
  absl::StatusOr<std::string> Read(int64_t file) const override {
    Url url = folder_;
    url.path += files_[file].name;
    const int64_t bytes = files_[file].bytes;
    return KnownRemoteFile(ProcessRemoteStore(), url,
                           {.etag = etags_[file], .size = bytes})
        ->Read(0, bytes);
  }

 private:
  // Never change after construction.
  const Url folder_;
  const std::string path_;
  std::vector<TreeFile> files_;
  std::vector<std::string> etags_;  // of files_
};

// As in a folder: names that begin with a point do not count, nor what stands
// for a folder.
bool IsLeftOut(absl::string_view name) {
  if (name.empty() || absl::EndsWith(name, "/")) return true;
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    if (absl::StartsWith(part, ".")) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileTree>> OpenS3Tree(const std::string& url) {
  GANDEM_ASSIGN_OR_RETURN(Url folder, ParseUrl(url));
  GANDEM_ASSIGN_OR_RETURN(std::vector<S3Object> objects,
                          ProcessRemoteStore().List(folder, /*most=*/0));
  const size_t prefix = folder.path.size() - 1;
  std::erase_if(objects, [&](const S3Object& object) {
    return object.key.size() < prefix ||
           IsLeftOut(absl::string_view(object.key).substr(prefix));
  });
  return std::make_unique<S3Tree>(std::move(folder), std::move(objects));
}

}  // namespace gandem
