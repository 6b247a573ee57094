// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/monotonic_time.h"
#include "common/process/log.h"
#include "common/status.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kSayInterval = absl::Seconds(5);

class FolderWalk {
 public:
  FolderWalk(const std::string& path, fs::path root) : root_(std::move(root)) {
    info_ = {.kind = "a folder of images", .path = path};
  }

  absl::StatusOr<TreeInfo> Run() {
    GANDEM_RETURN_IF_ERROR(Enter(""));
    std::ranges::sort(info_.files, {}, &TreeFile::name);
    return std::move(info_);
  }

 private:
  // Identifies a folder regardless of its name.
  using Identity = std::pair<dev_t, ino_t>;

  // `prefix` is empty or ends in '/'.
  absl::Status Enter(const std::string& prefix) {
    const std::string path = absl::StrCat(root_.string(), "/", prefix);
    struct stat info = {};
    std::error_code error;
    fs::directory_iterator entries;
    {
      const FileWait wait(path);
      entries = fs::directory_iterator(path, error);
      if (error || stat(path.c_str(), &info) != 0) {
        return FileError(error ? error.value() : errno, "cannot list", path);
      }
    }
    const Identity identity(info.st_dev, info.st_ino);
    if (std::ranges::count(within_, identity) > 0) {
      ++info_.unused["linked folder around itself"];
      return absl::OkStatus();
    }
    within_.push_back(identity);
    while (entries != fs::directory_iterator()) {
      GANDEM_RETURN_IF_ERROR(Take(*entries, prefix));
      const FileWait wait(path);
      entries.increment(error);
      if (error) return FileError(error.value(), "cannot list", path);
    }
    within_.pop_back();
    return absl::OkStatus();
  }

  absl::Status Take(const fs::directory_entry& entry,
                    const std::string& prefix) {
    const std::string own_name = entry.path().filename().string();
    if (own_name.front() == '.') {
      ++info_.unused["hidden"];
      return absl::OkStatus();
    }
    const std::string path = entry.path().string();
    const std::string name = prefix + own_name;
    struct stat info = {};
    std::error_code error;
    bool is_link = false;
    {
      const FileWait wait(path);
      is_link = entry.is_symlink(error);
      if (stat(path.c_str(), &info) != 0) {
        return FileError(
            errno, is_link ? "cannot follow link" : "cannot look at", path);
      }
    }
    if (S_ISREG(info.st_mode)) {
      info_.files.push_back({.name = name, .bytes = info.st_size});
      SayWhatTakesLong();
      return absl::OkStatus();
    }
    if (!S_ISDIR(info.st_mode)) return NoPlainFile(path, info.st_mode);
    if (is_link && !IsBelow(fs::canonical(path, error))) {
      ++info_.unused["linked folder that lies elsewhere"];
      return absl::OkStatus();
    }
    return Enter(name + "/");
  }

  bool IsBelow(const fs::path& target) const {
    const fs::path inside = target.lexically_relative(root_);
    return !inside.empty() && *inside.begin() != "..";
  }

  void SayWhatTakesLong() {
    const absl::Time now = MonotonicNow();
    if (now < said_at_ + kSayInterval) return;
    said_at_ = now;
    GANDEM_LOG_INFO("listing {}: {} files so far", info_.path,
                    info_.files.size());
  }

  const fs::path root_;  // canonical path
  absl::Time said_at_ = MonotonicNow();
  std::vector<Identity> within_;  // folders being listed
  TreeInfo info_;
};

class FolderTree : public FileTree {
 public:
  using FileTree::FileTree;

  std::string NameOf(int64_t file) const override {
    return absl::StrCat(path(), "/", files()[file].name);
  }
  absl::StatusOr<std::string> Read(int64_t file) const override {
    return ReadFile(NameOf(file));
  }
  absl::StatusOr<std::string> ReadStart(int64_t file,
                                        int64_t size) const override {
    return ReadPrefix(NameOf(file), static_cast<size_t>(size));
  }
};

}  // namespace

OpenedTree OpenFolderTree(const Location& at) {
  std::error_code error;
  fs::path root;
  {
    const FileWait wait(at.path);
    root = fs::canonical(at.path, error);
  }
  if (error) return FileError(error.value(), "cannot open folder", at.path);
  GANDEM_ASSIGN_OR_RETURN(TreeInfo info,
                          FolderWalk(at.path, std::move(root)).Run());
  return std::make_unique<FolderTree>(std::move(info));
}

}  // namespace gandem
