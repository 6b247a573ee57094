// SPDX-License-Identifier: Apache-2.0
#include "pipeline/trees/folder_listings.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "proto/listing.pb.h"

namespace gandem {
namespace {

namespace fs = std::filesystem;

constexpr char kListingsFile[] = "/state/listings";
constexpr absl::Duration kSayInterval = absl::Seconds(5);
// Files between two looks at the clock.
constexpr size_t kFilesOfALook = 1000;
// File systems tell times to 2 s (FAT) and better.
constexpr absl::Duration kCoarsestTime = absl::Seconds(3);

ListedFolder Listed(std::string name, const struct stat& info) {
  return {
      .name = std::move(name),
      .inode = info.st_ino,
      .changed_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
}

// Null: errno says why.
DIR* OpenFolder(const std::string& path) {
  const int fd = OpenFile(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  DIR* const folder = fdopendir(fd);
  if (folder == nullptr) close(fd);
  return folder;
}

// The next entry but "." and ".."; null: the end, or errno says why.
const dirent* NextEntry(DIR* folder) {
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(folder);
    if (entry == nullptr) return nullptr;
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry;
  }
}

// Lists the files below a folder.
class FolderWalk {
 public:
  FolderWalk(std::string path, fs::path root,
             std::function<void(const std::string&)> say)
      : path_(std::move(path)), root_(std::move(root)), say_(std::move(say)) {}

  absl::StatusOr<FolderContents> Run() {
    GANDEM_RETURN_IF_ERROR(Enter(""));
    std::ranges::sort(contents_.files, {}, &TreeFile::name);
    return std::move(contents_);
  }

 private:
  // Identifies a folder whatever its name is.
  using Identity = std::pair<dev_t, ino_t>;

  // `prefix` is empty, or ends in '/'.
  absl::Status Enter(const std::string& prefix) {
    const std::string path = absl::StrCat(root_.string(), "/", prefix);
    DIR* const folder = OpenFolder(path);
    if (folder == nullptr) return FileError(errno, "cannot list", path);
    const absl::Cleanup close_folder = [folder] { closedir(folder); };
    // Before the names are read: what changes meanwhile counts as changed.
    struct stat info = {};
    if (fstat(dirfd(folder), &info) != 0) {
      return FileError(errno, "cannot list", path);
    }
    const Identity identity(info.st_dev, info.st_ino);
    if (std::ranges::count(within_, identity) > 0) {
      ++contents_.unused["linked folder around itself"];
      return absl::OkStatus();
    }
    within_.push_back(identity);
    contents_.folders.push_back(Listed(prefix, info));
    while (const std::optional<Found> found = Next(folder)) {
      GANDEM_RETURN_IF_ERROR(Take(*found, prefix + found->name));
    }
    if (errno != 0) return FileError(errno, "cannot list", path);
    within_.pop_back();
    return absl::OkStatus();
  }

  struct Found {
    std::string name = {};
    bool is_link = false;
    int error = 0;  // errno of `info`
    struct stat info = {};
  };
  // Nothing: the end, or errno says why.
  std::optional<Found> Next(DIR* folder) const {
    const FileWait wait(path_);
    const dirent* const entry = NextEntry(folder);
    if (entry == nullptr) return std::nullopt;
    Found found = {.name = entry->d_name};
    if (entry->d_name[0] == '.') return found;
    const auto look = [&](int flags) {
      return fstatat(dirfd(folder), entry->d_name, &found.info, flags);
    };
    found.is_link =
        entry->d_type == DT_LNK ||
        (entry->d_type == DT_UNKNOWN && look(AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(found.info.st_mode));
    found.error = look(/*flags=*/0) == 0 ? 0 : errno;
    return found;
  }

  absl::Status Take(const Found& found, const std::string& name) {
    const auto path = [&] { return absl::StrCat(root_.string(), "/", name); };
    if (found.name[0] == '.') {
      ++contents_.unused["hidden"];
      return absl::OkStatus();
    }
    if (found.error != 0) {
      return FileError(found.error,
                       found.is_link ? "cannot follow link" : "cannot look at",
                       path());
    }
    if (S_ISREG(found.info.st_mode)) {
      contents_.files.push_back({.name = name, .bytes = found.info.st_size});
      if (contents_.files.size() % kFilesOfALook == 0) SayWhatTakesLong();
      return absl::OkStatus();
    }
    if (!S_ISDIR(found.info.st_mode)) {
      return NoPlainFile(path(), found.info.st_mode);
    }
    std::error_code error;
    if (found.is_link && !IsBelow(fs::canonical(path(), error))) {
      ++contents_.unused["linked folder that lies elsewhere"];
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
    if (!say_ || now < said_at_ + kSayInterval) return;
    said_at_ = now;
    say_(absl::StrCat("listing ", path_, ": ", contents_.files.size(),
                      " files so far"));
  }

  const std::string path_;  // as the user gave it
  const fs::path root_;     // without links
  const std::function<void(const std::string&)> say_;
  absl::Time said_at_ = MonotonicNow();
  std::vector<Identity> within_;  // the folders that are being listed
  FolderContents contents_;
};

absl::StatusOr<FolderContents> ListNow(
    const std::string& path, std::function<void(const std::string&)> say) {
  std::error_code error;
  fs::path root;
  {
    const FileWait wait(path);
    root = fs::canonical(path, error);
  }
  if (error) return FileError(error.value(), "cannot open folder", path);
  return FolderWalk(path, std::move(root), std::move(say)).Run();
}

// Nothing: it makes no sense.
std::optional<FolderContents> ContentsOf(const KeptListing& kept) {
  if (kept.folders_size() != kept.inodes_size() ||
      kept.folders_size() != kept.changed_ns_size() ||
      kept.folders_size() == 0 || kept.files_size() != kept.bytes_size()) {
    return std::nullopt;
  }
  FolderContents contents;
  for (int i = 0; i < kept.folders_size(); ++i) {
    contents.folders.push_back({.name = kept.folders(i),
                                .inode = kept.inodes(i),
                                .changed_ns = kept.changed_ns(i)});
  }
  contents.files.reserve(static_cast<size_t>(kept.files_size()));
  for (int i = 0; i < kept.files_size(); ++i) {
    contents.files.push_back({.name = kept.files(i), .bytes = kept.bytes(i)});
  }
  contents.unused.insert(kept.unused().begin(), kept.unused().end());
  return contents;
}

KeptListing ToProto(const std::string& path, const FolderContents& contents) {
  KeptListing kept;
  kept.set_path(path);
  for (const ListedFolder& folder : contents.folders) {
    kept.add_folders(folder.name);
    kept.add_inodes(folder.inode);
    kept.add_changed_ns(folder.changed_ns);
  }
  for (const TreeFile& file : contents.files) {
    kept.add_files(file.name);
    kept.add_bytes(file.bytes);
  }
  kept.mutable_unused()->insert(contents.unused.begin(), contents.unused.end());
  return kept;
}

bool IsUnchanged(const std::string& path, const ListedFolder& folder) {
  const std::string name = absl::StrCat(path, "/", folder.name);
  const FileWait wait(name);
  struct stat info = {};
  return stat(name.c_str(), &info) == 0 && Listed(folder.name, info) == folder;
}

}  // namespace

std::vector<std::string> NamesIn(
    const std::string& folder,
    absl::FunctionRef<bool(absl::string_view name)> wanted) {
  DIR* const opened = OpenFolder(folder);
  if (opened == nullptr) return {};
  const absl::Cleanup close_folder = [opened] { closedir(opened); };
  std::vector<std::string> names;
  while (true) {
    const FileWait wait(folder);
    const dirent* const entry = NextEntry(opened);
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    if (name.front() != '.' && wanted(name)) names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

FolderListings::FolderListings(Options options)
    : options_(std::move(options)), outer_(std::exchange(innermost_, this)) {}

FolderListings::~FolderListings() { innermost_ = outer_; }

absl::StatusOr<std::shared_ptr<const FolderContents>> FolderListings::Of(
    const std::string& path) {
  FolderListings* const scope = innermost_;
  if (scope == nullptr) {
    GANDEM_ASSIGN_OR_RETURN(FolderContents now, ListNow(path, {}));
    return std::make_shared<const FolderContents>(std::move(now));
  }
  Contents& contents = scope->listed_[AbsoluteName(path)];
  if (contents == nullptr) contents = scope->FindKept(path);
  if (contents == nullptr) {
    GANDEM_ASSIGN_OR_RETURN(FolderContents now,
                            ListNow(path, scope->options_.say));
    contents = std::make_shared<const FolderContents>(std::move(now));
  }
  return contents;
}

// Whatever is wrong with the file, the folder itself can be listed.
FolderListings::Contents FolderListings::FindKept(
    const std::string& path) const {
  if (options_.run_dir.empty()) return nullptr;
  const auto bytes = ReadFile(options_.run_dir + kListingsFile);
  KeptListings kept;
  if (!bytes.ok() || !kept.ParseFromString(*bytes)) return nullptr;
  for (const KeptListing& listing : kept.listings()) {
    if (listing.path() != AbsoluteName(path)) continue;
    std::optional<FolderContents> contents = ContentsOf(listing);
    const bool is_right =
        contents.has_value() &&
        std::ranges::all_of(contents->folders, [&](const ListedFolder& folder) {
          return IsUnchanged(path, folder);
        });
    if (!is_right) return nullptr;
    return std::make_shared<const FolderContents>(*std::move(contents));
  }
  return nullptr;
}

absl::Status FolderListings::Keep(const std::string& run_dir) const {
  const int64_t settled_ns = absl::ToUnixNanos(absl::Now() - kCoarsestTime);
  KeptListings kept;
  for (const auto& [path, contents] : listed_) {
    const bool is_settled =
        std::ranges::all_of(contents->folders, [&](const ListedFolder& folder) {
          return folder.changed_ns < settled_ns;
        });
    if (is_settled) *kept.add_listings() = ToProto(path, *contents);
  }
  const std::string file = run_dir + kListingsFile;
  if (kept.listings().empty()) return RemoveAll(file);
  return WriteFileDurably(file, kept.SerializeAsString());
}

}  // namespace gandem
