// SPDX-License-Identifier: Apache-2.0
//
// Lists a folder once for all that open it: a listing of a million files costs
// seconds of a processor, and minutes on a disk far away.
//
//   FolderListings listings({.say = ...});       // `gandem train`
//   ... open the dataset, as often as needed ...
//   status = listings.Keep(run_dir);
//
//   FolderListings listings({.run_dir = run_dir});  // a worker
//   ... open the dataset ...
//
// A listing that was kept stands for the folder only if every folder in it has
// the inode and the time of change that it had: then no name was added, removed
// or renamed since, and it is the same folder, seen from whichever host. A file
// that was overwritten is not noticed.
//
// Owner: whoever opens the dataset. Thread safety: an object works for the
// thread that made it, which destroys it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {

struct ListedFolder {
  std::string name = {};  // relative to the path; empty: that itself
  uint64_t inode = 0;
  int64_t changed_ns = 0;  // since 1970, of its names

  bool operator==(const ListedFolder&) const = default;
};

struct FolderContents {
  std::vector<ListedFolder> folders = {};
  std::vector<TreeFile> files = {};  // in the order of the names' bytes
  UnusedFiles unused = {};
};

class FolderListings {
 public:
  struct Options {
    // Run directory with kept listings. Empty: no listings are read.
    std::string run_dir = {};
    // Hears of a listing that takes long; may be empty.
    std::function<void(const std::string& line)> say = {};
  };

  explicit FolderListings(Options options);
  FolderListings(const FolderListings&) = delete;
  FolderListings& operator=(const FolderListings&) = delete;
  ~FolderListings();

  // What `path` holds: as it was listed before in the thread's innermost
  // FolderListings or kept, else by listing it now. Errors of OpenFolderTree.
  static absl::StatusOr<std::shared_ptr<const FolderContents>> Of(
      const std::string& path);

  // Writes what was listed into run_dir/state/, for FolderListings of others.
  // What has changed in the last seconds is left out: its time of change may
  // stay the same with the next change.
  absl::Status Keep(const std::string& run_dir) const;

 private:
  using Contents = std::shared_ptr<const FolderContents>;

  // Null: no listing of it was kept that is still right.
  Contents FindKept(const std::string& path) const;

  inline static thread_local FolderListings* innermost_ = nullptr;

  const Options options_;
  FolderListings* const outer_;
  std::map<std::string, Contents> listed_;  // by absolute path
};

// The names in a folder, not below it, that are not hidden and that `wanted`
// wants, sorted; none where it cannot be listed.
std::vector<std::string> NamesIn(
    const std::string& folder,
    absl::FunctionRef<bool(absl::string_view name)> wanted);

}  // namespace gandem
