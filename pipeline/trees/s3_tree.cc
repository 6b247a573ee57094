// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "pipeline/remote/remote_file.h"
#include "pipeline/remote/remote_store.h"
#include "pipeline/trees/file_tree.h"
#include "pipeline/trees/tree_names.h"

namespace gandem {
namespace {

class S3Tree : public FileTree {
 public:
  S3Tree(TreeInfo info, Url folder, std::vector<std::string> etags)
      : FileTree(std::move(info)),
        folder_(std::move(folder)),
        etags_(std::move(etags)) {}

  std::string NameOf(int64_t file) const override {
    return absl::StrCat(path(), files()[file].name);
  }
  absl::StatusOr<std::string> Read(int64_t file) const override {
    return ReadStart(file, files()[file].bytes);
  }
  absl::StatusOr<std::string> ReadStart(int64_t file,
                                        int64_t size) const override {
    Url url = folder_;
    url.path += files()[file].name;
    const int64_t bytes = files()[file].bytes;
    return KnownRemoteFile(ProcessRemoteStore(), url,
                           {.etag = etags_[file], .size = bytes})
        ->Read(0, std::min(size, bytes));
  }

 private:
  // Never change after construction.
  const Url folder_;
  const std::vector<std::string> etags_;  // of files()
};

}  // namespace

OpenedTree OpenS3Tree(const Location& at) {
  GANDEM_ASSIGN_OR_RETURN(Url folder, ParseUrl(at.path));
  GANDEM_ASSIGN_OR_RETURN(std::vector<S3Object> objects,
                          ProcessRemoteStore().List(folder, /*most=*/0));
  std::ranges::sort(objects, {}, &S3Object::key);
  const size_t prefix = folder.path.size() - 1;  // keys have no leading '/'
  TreeInfo info = {.kind = "a folder of images in S3", .path = UrlText(folder)};
  std::vector<std::string> etags;
  for (S3Object& object : objects) {
    // Skip objects that represent folders.
    if (object.key.size() <= prefix || absl::EndsWith(object.key, "/")) {
      continue;
    }
    const std::string name = object.key.substr(prefix);
    if (IsHiddenName(name)) {
      ++info.unused["hidden"];
      continue;
    }
    info.files.push_back({.name = name, .bytes = object.bytes});
    etags.push_back(std::move(object.etag));
  }
  return std::make_unique<S3Tree>(std::move(info), std::move(folder),
                                  std::move(etags));
}

}  // namespace gandem
