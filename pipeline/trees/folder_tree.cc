// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
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
  FolderTree(std::string path, std::vector<TreeFile> files, UnusedFiles unused)
      : path_(std::move(path)),
        files_(std::move(files)),
        unused_(std::move(unused)) {}

  std::string kind() const override { return "a folder of images"; }
  const std::string& path() const override { return path_; }
  const std::vector<TreeFile>& files() const override { return files_; }
  UnusedFiles unused() const override { return unused_; }
  std::string NameOf(int64_t file) const override {
    return absl::StrCat(path_, "/", files_[file].name);
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
  const std::vector<TreeFile> files_;
  const UnusedFiles unused_;
};

// Lists the files below a folder.
class FolderWalk {
 public:
  explicit FolderWalk(fs::path root) : root_(std::move(root)) {}

  absl::Status Run() {
    struct stat info = {};
    if (stat(root_.c_str(), &info) != 0) {
      return FileError(errno, "cannot open folder", root_.string());
    }
    return Enter(root_, "", info);
  }
  std::vector<TreeFile> TakeFiles() { return std::move(files_); }
  UnusedFiles TakeUnused() { return std::move(unused_); }

 private:
  // What tells folders apart, whatever they are called.
  using Identity = std::pair<dev_t, ino_t>;

  absl::Status Enter(const fs::path& folder, const std::string& prefix,
                     const struct stat& info) {
    within_.emplace_back(info.st_dev, info.st_ino);
    std::error_code error;
    fs::directory_iterator it(folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      GANDEM_RETURN_IF_ERROR(Take(*it, prefix));
    }
    if (error) return FileError(error.value(), "cannot list", folder.string());
    within_.pop_back();
    return absl::OkStatus();
  }

  absl::Status Take(const fs::directory_entry& entry,
                    const std::string& prefix) {
    const std::string name = entry.path().filename().string();
    if (absl::StartsWith(name, ".")) {
      ++unused_["hidden"];
      return absl::OkStatus();
    }
    std::error_code error;
    const bool is_link = entry.is_symlink(error);
    struct stat info = {};
    if (stat(entry.path().c_str(), &info) != 0) {
      return FileError(errno, is_link ? "cannot follow link" : "cannot look at",
                       entry.path().string());
    }
    if (S_ISREG(info.st_mode)) {
      files_.push_back({.name = prefix + name, .bytes = info.st_size});
      return absl::OkStatus();
    }
    if (!S_ISDIR(info.st_mode)) {
      return NoPlainFile(entry.path().string(), info.st_mode);
    }
    if (is_link && !IsBelow(fs::canonical(entry.path(), error))) {
      ++unused_["linked folder that lies elsewhere"];
      return absl::OkStatus();
    }
    if (std::ranges::count(within_, Identity(info.st_dev, info.st_ino)) > 0) {
      ++unused_["linked folder around itself"];
      return absl::OkStatus();
    }
    return Enter(entry.path(), absl::StrCat(prefix, name, "/"), info);
  }

  bool IsBelow(const fs::path& target) const {
    const fs::path inside = target.lexically_relative(root_);
    return !inside.empty() && *inside.begin() != "..";
  }

  const fs::path root_;           // without links
  std::vector<Identity> within_;  // the folders that are being listed
  std::vector<TreeFile> files_;
  UnusedFiles unused_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileTree>> OpenFolderTree(
    const std::string& path) {
  std::error_code error;
  fs::path root = fs::canonical(path, error);
  if (error) return FileError(error.value(), "cannot open folder", path);
  FolderWalk walk(std::move(root));
  GANDEM_RETURN_IF_ERROR(walk.Run());
  std::vector<TreeFile> files = walk.TakeFiles();
  std::ranges::sort(files, {}, &TreeFile::name);
  return std::make_unique<FolderTree>(path, std::move(files),
                                      walk.TakeUnused());
}

}  // namespace gandem
