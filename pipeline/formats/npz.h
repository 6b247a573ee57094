// SPDX-License-Identifier: Apache-2.0
//
// numpy's .npz: a zip archive (PKWARE APPNOTE 6.3.10, with its 64-bit fields)
// of arrays in the .npy format (numpy.lib.format). numpy.load reads what we
// write, and we read what numpy.savez and numpy.savez_compressed write.
//
// Owner: the caller. Thread safety: one thread per object.
// Errors: those of pipeline/remote/open_file.h; DATA_LOSS for a file that is
// not exactly as the formats say, whoever made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file_writer.h"
#include "pipeline/formats/npy_format.h"
#include "pipeline/formats/zip_reader.h"

namespace gandem {

class NpzReader {
 public:
  // Reads the table of contents.
  static absl::StatusOr<NpzReader> Open(const std::string& path_or_url,
                                        int64_t max_array_bytes = int64_t{16}
                                                                  << 30);

  // Names of all members, sorted, without ".npy".
  std::vector<std::string> names() const;
  bool Has(const std::string& name) const;
  // The first names, for messages: "a, b, c and 12 others".
  std::string NamesText() const;

  // Row-major, whatever the file has.
  //   NOT_FOUND         no array of that name; lists what there is.
  //   INVALID_ARGUMENT  a dtype of none of ours (text, complex, objects), or
  //                     more than max_array_bytes.
  //   DATA_LOSS         damaged, encrypted, compressed otherwise than by
  //                     deflate, or a checksum that does not fit.
  absl::StatusOr<NamedTensor> Read(const std::string& name) const;

 private:
  NpzReader(std::string path, ZipReader zip, int64_t max_array_bytes);

  std::string path_;
  ZipReader zip_;
  int64_t max_array_bytes_;
  std::map<std::string, size_t> members_;  // places in zip_.members()
};

// Arrays one after the other, none held in memory, uncompressed. The file is
// complete when Finish() says so.
class NpzWriter {
 public:
  static absl::StatusOr<NpzWriter> Create(const std::string& path);

  // Begins an array of which Append() brings the bytes, row-major.
  //   INVALID_ARGUMENT     a name twice, empty or with '/'; bfloat16.
  //   FAILED_PRECONDITION  the array before lacks bytes, or gets too many.
  absl::Status Begin(const std::string& name, DType dtype,
                     std::span<const int64_t> shape);
  absl::Status Append(std::span<const std::byte> bytes);

  // A whole array.
  absl::Status Add(const NamedTensor& tensor);

  // Writes the table of contents and makes the file survive a crash (the
  // caller syncs the folder). Nothing may be called after it.
  absl::Status Finish();

 private:
  explicit NpzWriter(FileWriter file) : file_(std::move(file)) {}

  absl::Status Write(absl::string_view bytes);
  absl::Status EndMember();

  FileWriter file_;
  uint64_t position_ = 0;
  uint64_t missing_bytes_ = 0;  // bytes that the current array lacks
  std::vector<ZipMember> members_;
};

}  // namespace gandem
