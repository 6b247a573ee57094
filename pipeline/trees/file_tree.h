// SPDX-License-Identifier: Apache-2.0
//
// Named files, wherever they lie: in a folder, a zip, tar shards. What makes
// images with labels of them is the same for all (tree_source.h); a new place
// for files implements this.
//
// Owner: the ImageStore that was made of it.
// Thread safety: immutable after it was opened; Read from any thread.
// Errors: name the file, and the archive.
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
  std::string name;  // with '/', relative to the folder or in the archive
  int64_t bytes = 0;
};

struct TreeLabels {
  std::vector<int64_t> labels = {};  // empty: none; else none is negative
  // Names of the labels from 0 on, if they have names.
  std::vector<std::string> class_names = {};
  // Why labels that were found cannot be used; then there are none.
  std::string unused = {};
  bool from_json = false;  // of WebDataset's samples
};

// Description of a tree, made without reading its files.
struct TreeInfo {
  std::string kind = {};  // "a folder of images": what it is, for people
  std::string path = {};  // for messages
  // Files in the order of their names' bytes; of several archives, one after
  // the other.
  std::vector<TreeFile> files = {};
  std::vector<int64_t> units = {0};  // the first file of each archive
  // Labels of the files, if an index has them; all files are images then.
  // nullopt: files of the tree hold the labels.
  std::optional<TreeLabels> labels = {};
  // Whether the names are those of WebDataset, in which a sample is all files
  // whose names are equal up to the first point (tree_names.h).
  bool has_samples = false;
  // Files that the tree has found and does not list, such as hidden ones.
  UnusedFiles unused = {};
};

class FileTree {
 public:
  explicit FileTree(TreeInfo info) : info_(std::move(info)) {}
  virtual ~FileTree() = default;

  const TreeInfo& info() const { return info_; }
  const std::string& path() const { return info_.path; }
  const std::vector<TreeFile>& files() const { return info_.files; }

  // Unique name of a file within the tree, wherever the tree is.
  virtual std::string KeyOf(int64_t file) const { return files()[file].name; }
  // Name of a file in messages: "folder/name" or "archive:name".
  virtual std::string NameOf(int64_t file) const = 0;
  // The bytes of a file.
  virtual absl::StatusOr<std::string> Read(int64_t file) const = 0;
  // The first bytes: `size`, or fewer where the file is shorter.
  virtual absl::StatusOr<std::string> ReadStart(int64_t file,
                                                int64_t size) const = 0;

 private:
  const TreeInfo info_;  // never changes after construction
};

using OpenedTree = absl::StatusOr<std::unique_ptr<FileTree>>;

// Files below a folder. Links to files are followed, wherever they lead. Linked
// folders are entered if they lie below the folder, too, but not from within
// themselves; TreeInfo::unused counts the others. A listing that takes long is
// logged every five seconds.
OpenedTree OpenFolderTree(const Location& at);

// The objects of s3://BUCKET/FOLDER/. Each is read in the version that the list
// had.
OpenedTree OpenS3Tree(const Location& at);

// If no name of the archive has a '/', a '\' separates folders, as some
// programs on Windows write it.
//   DATA_LOSS  also: two names are the same file.
OpenedTree OpenZipTree(const Location& at);

// A tar or its shards. Shards that have an index (pipeline/formats/tar_index.h)
// are opened by it, and the bytes that are read are compared with its CRC32C.
//   DATA_LOSS  also: some have an index, others have none or another one.
OpenedTree OpenTarTree(const Location& at);

}  // namespace gandem
