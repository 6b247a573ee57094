// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/spare_descriptors.h"
#include "common/status.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

namespace fs = std::filesystem;

class FolderTree : public FileTree {
 public:
  FolderTree(std::string path, std::vector<TreeFile> files)
      : path_(std::move(path)), files_(std::move(files)) {}

  std::string kind() const override { return "a folder of images"; }
  const std::string& path() const override { return path_; }
  const std::vector<TreeFile>& files() const override { return files_; }
  std::string NameOf(int64_t file) const override {
    return absl::StrCat(path_, "/", files_[file].name);
  }
  absl::StatusOr<std::string> Read(int64_t file) const override {
    return ReadFile(NameOf(file));
  }

 private:
  // Never change after construction.
  const std::string path_;
  const std::vector<TreeFile> files_;
};

// A link may point to another name of the data, not out of the folder.
absl::Status CheckLink(const fs::path& link, const fs::path& root) {
  std::error_code error;
  const fs::path target = fs::canonical(link, error);
  if (error)
    return FileError(error.value(), "cannot follow link", link.string());
  const fs::path inside = target.lexically_relative(root);
  if (!inside.empty() && *inside.begin() != "..") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", link.string(), "' is a link to '", target.string(),
      "', outside of the folder: name that folder, or copy the images"));
}

mode_t TypeOf(const fs::path& path) {
  struct stat info = {};
  stat(path.c_str(), &info);
  return info.st_mode;
}

bool IsHidden(const fs::path& path) {
  return absl::StartsWith(path.filename().string(), ".");
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileTree>> OpenFolderTree(
    const std::string& path) {
  std::error_code error;
  const fs::path root = fs::canonical(path, error);
  if (error) return FileError(error.value(), "cannot open folder", path);
  std::vector<TreeFile> files;
  // Linked folders are not entered: they could lead in circles.
  fs::recursive_directory_iterator it(root, error);
  for (; !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    // First: a link that leads nowhere is neither file nor folder.
    if (it->is_symlink(error) && !IsHidden(it->path())) {
      GANDEM_RETURN_IF_ERROR(CheckLink(it->path(), root));
    }
    const bool is_folder = it->is_directory(error);
    if (IsHidden(it->path())) {
      if (is_folder) it.disable_recursion_pending();
      error.clear();
      continue;
    }
    if (error) break;
    if (is_folder) continue;
    if (!it->is_regular_file(error)) {
      if (error) break;
      return NoPlainFile(it->path().string(), TypeOf(it->path()));
    }
    files.push_back({.name = it->path().lexically_relative(root).string(),
                     .bytes = static_cast<int64_t>(it->file_size(error))});
  }
  if (error) return FileError(error.value(), "cannot list", path);
  std::ranges::sort(files, {}, &TreeFile::name);
  return std::make_unique<FolderTree>(path, std::move(files));
}

}  // namespace gandem
