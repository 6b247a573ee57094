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
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/unused_files.h"

namespace gandem {

struct TreeFile {
  std::string name;  // with '/', relative to the folder or in the archive
  int64_t bytes = 0;
};

struct TreeLabels {
  std::vector<int64_t> labels = {};  // empty: none; else none is negative
  // Of the labels from 0 on, where they have names.
  std::vector<std::string> class_names = {};
  // Why labels that were found cannot be used; then there are none.
  std::string unused = {};
  bool from_json = false;  // of WebDataset's samples
};

class FileTree {
 public:
  virtual ~FileTree() = default;

  // "a folder of images": what it is, for people.
  virtual std::string kind() const = 0;
  virtual const std::string& path() const = 0;
  // In the order of the names' bytes; of several archives, one after the other.
  virtual const std::vector<TreeFile>& files() const = 0;
  // The first file of each archive.
  virtual std::vector<int64_t> Units() const { return {0}; }
  // What a file is called within the tree, wherever that lies; no other file of
  // it is.
  virtual std::string KeyOf(int64_t file) const { return files()[file].name; }
  // What a file is called in messages: "folder/name" or "archive:name".
  virtual std::string NameOf(int64_t file) const = 0;
  // Of files(), which are all images then, where an index has them; null:
  // files of the tree say the labels.
  virtual const TreeLabels* KnownLabels() const { return nullptr; }
  // Whether the names are those of WebDataset, in which a sample is all files
  // whose names are equal up to the first point (tree_names.h).
  virtual bool has_samples() const { return false; }
  // Files that the tree has found and does not list, such as hidden ones.
  virtual UnusedFiles unused() const { return {}; }
  // Its bytes.
  virtual absl::StatusOr<std::string> Read(int64_t file) const = 0;
  // The first bytes: `size`, or fewer where the file is shorter.
  virtual absl::StatusOr<std::string> ReadStart(int64_t file,
                                                int64_t size) const = 0;
};

// Files below a folder. Links to files are followed, wherever they lead. Linked
// folders are entered if they lie below the folder, too, but not from within
// themselves; unused() counts the others.
absl::StatusOr<std::unique_ptr<FileTree>> OpenFolderTree(
    const std::string& path);

// The objects of s3://BUCKET/FOLDER/. Each is read in the version that the list
// had.
absl::StatusOr<std::unique_ptr<FileTree>> OpenS3Tree(const std::string& url);

// Where no name of the archive has a '/', a '\' separates folders, as some
// programs on Windows write it.
//   DATA_LOSS  also: two names are the same file.
absl::StatusOr<std::unique_ptr<FileTree>> OpenZipTree(const std::string& path);

// `path` is a tar, or several: name-{000000..000009}.tar; or URLs. Those that
// have an index (pipeline/formats/tar_index.h) are opened by it, and what is
// read of them is compared with its CRC32C.
//   DATA_LOSS  also: some have an index, others have none or another one.
absl::StatusOr<std::unique_ptr<FileTree>> OpenTarTree(const std::string& path);

// The files that a name with a range in braces stands for, whether they are
// there or not; `path` alone if it has none.
//   INVALID_ARGUMENT  a range that is none, or of more than a million.
absl::StatusOr<std::vector<std::string>> ExpandShards(const std::string& path);

}  // namespace gandem
