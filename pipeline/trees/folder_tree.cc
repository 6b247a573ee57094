// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/random_access_file.h"
#include "pipeline/trees/file_tree.h"
#include "pipeline/trees/folder_listings.h"

namespace gandem {
namespace {

class FolderTree : public FileTree {
 public:
  FolderTree(std::string path, std::shared_ptr<const FolderContents> contents)
      : path_(std::move(path)), contents_(std::move(contents)) {}

  std::string kind() const override { return "a folder of images"; }
  const std::string& path() const override { return path_; }
  const std::vector<TreeFile>& files() const override {
    return contents_->files;
  }
  UnusedFiles unused() const override { return contents_->unused; }
  std::string NameOf(int64_t file) const override {
    return absl::StrCat(path_, "/", files()[file].name);
  }
  absl::StatusOr<std::string> Read(int64_t file) const override {
    return ReadFile(NameOf(file));
  }
  absl::StatusOr<std::string> ReadStart(int64_t file,
                                        int64_t size) const override {
    return ReadPrefix(NameOf(file), static_cast<size_t>(size));
  }

 private:
  // Never change after construction.
  const std::string path_;
  const std::shared_ptr<const FolderContents> contents_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileTree>> OpenFolderTree(
    const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(auto contents, FolderListings::Of(path));
  return std::make_unique<FolderTree>(path, std::move(contents));
}

}  // namespace gandem
