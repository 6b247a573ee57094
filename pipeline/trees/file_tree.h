// SPDX-License-Identifier: Apache-2.0
//
// Named files in a folder, zip or tar shards, for tree_source.h.
//
// Owner: the ImageStore made of the tree. Thread safety: immutable after
// opening; Read from any thread. Errors: name the file and the archive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/trees/location.h"
#include "pipeline/unused_files.h"

namespace gandem {

struct TreeFile {
  std::string name;  // with '/', relative to the folder or archive
  int64_t bytes = 0;
};

struct TreeLabels {
  std::vector<int64_t> labels = {};  // empty: none; otherwise all >= 0
  // Names of labels 0, 1, ..., if they have names.
  std::vector<std::string> class_names = {};
  // Reason why existing labels are not used; `labels` is empty then.
  std::string unused = {};
  bool from_json = false;  // from JSON files of WebDataset samples
};

struct TreeInfo {
  std::string kind = {};  // for people: "a folder of images"
  std::string path = {};  // for messages
  // Files sorted by the bytes of their names, within each archive.
  std::vector<TreeFile> files = {};
  std::vector<int64_t> units = {0};  // index of the first file of each archive
  // Labels from an index, if there is one; all files are images then. nullopt:
  // labels are in files of the tree.
  std::optional<TreeLabels> labels = {};
  // Whether names follow WebDataset: a sample consists of all files with the
  // same name up to the first dot (tree_names.h).
  bool has_samples = false;
  // Files that are not listed, such as hidden ones.
  UnusedFiles unused = {};
};

class FileTree {
 public:
  explicit FileTree(TreeInfo info) : info_(std::move(info)) {}
  virtual ~FileTree() = default;

  const TreeInfo& info() const { return info_; }
  const std::string& path() const { return info_.path; }
  const std::vector<TreeFile>& files() const { return info_.files; }

  // Returns a file's unique name within the tree, wherever the tree is.
  virtual std::string KeyOf(int64_t file) const { return files()[file].name; }
  // Returns a file's name for messages: "folder/name" or "archive:name".
  virtual std::string NameOf(int64_t file) const = 0;
  virtual absl::StatusOr<std::string> Read(int64_t file) const = 0;
  // Reads the first `size` bytes (fewer if the file is shorter).
  virtual absl::StatusOr<std::string> ReadStart(int64_t file,
                                                int64_t size) const = 0;

 private:
  const TreeInfo info_;  // never changes after construction
};

using OpenedTree = absl::StatusOr<std::unique_ptr<FileTree>>;

// Opens the files below a folder. Follows links to files anywhere. Enters
// linked folders only below `at` and without cycles; TreeInfo::unused counts
// the others. Logs slow listings every five seconds.
OpenedTree OpenFolderTree(const Location& at);

// Opens the objects of s3://BUCKET/FOLDER/. Reads the listed version of each.
OpenedTree OpenS3Tree(const Location& at);

// Opens a zip. '\' separates folders if no name contains '/' (Windows).
//   DATA_LOSS  also: two names are the same file.
OpenedTree OpenZipTree(const Location& at);

// Opens a tar or tar shards, if possible by their indexes
// (pipeline/formats/tar_index.h), whose CRC32C verifies all reads.
//   DATA_LOSS  also: some shards have no index, or indexes differ.
OpenedTree OpenTarTree(const Location& at);

}  // namespace gandem
