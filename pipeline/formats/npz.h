// SPDX-License-Identifier: Apache-2.0
//
// numpy's .npz: a zip archive (PKWARE APPNOTE 6.3.10, with 64-bit fields) of
// .npy arrays (numpy.lib.format). NpzWriter's files can be read by numpy.load;
// NpzReader reads files of numpy.savez and numpy.savez_compressed.
//
// Owner: the caller. Thread safety: one thread per object. Errors: those of
// pipeline/remote/open_file.h; DATA_LOSS for a file that violates the formats.
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
  static absl::StatusOr<NpzReader> Open(const std::string& path_or_url,
                                        int64_t max_array_bytes = int64_t{16}
                                                                  << 30);

  // Returns the names of all arrays, sorted, without ".npy".
  std::vector<std::string> names() const;
  bool Has(const std::string& name) const;
  // Lists the first names for messages: "a, b, c and 12 others".
  std::string NamesText() const;

  // Returns a row-major array, whatever the order in the file.
  //   NOT_FOUND         no array has that name; lists the arrays.
  //   INVALID_ARGUMENT  an unsupported dtype (text, complex, objects), or more
  //                     than max_array_bytes.
  //   DATA_LOSS         damaged, encrypted, compressed other than by deflate,
  //                     or a wrong checksum.
  absl::StatusOr<NamedTensor> Read(const std::string& name) const;

 private:
  NpzReader(std::string path, ZipReader zip, int64_t max_array_bytes);

  std::string path_;
  ZipReader zip_;
  int64_t max_array_bytes_;
  std::map<std::string, size_t> members_;  // indices in zip_.members()
};

// Writes uncompressed arrays without buffering.
class NpzWriter {
 public:
  static absl::StatusOr<NpzWriter> Create(const std::string& path);

  // Begins an array whose bytes follow in Append(), row-major.
  //   INVALID_ARGUMENT     a duplicate or empty name, or one with '/';
  //                        bfloat16.
  //   FAILED_PRECONDITION  the previous array has too few or too many bytes.
  absl::Status Begin(const std::string& name, DType dtype,
                     std::span<const int64_t> shape);
  absl::Status Append(std::span<const std::byte> bytes);

  absl::Status Add(const NamedTensor& tensor);

  // Writes the table of contents and syncs the file (the caller syncs the
  // folder). Must be the last call.
  absl::Status Finish();

 private:
  explicit NpzWriter(FileWriter file) : file_(std::move(file)) {}

  absl::Status Write(absl::string_view bytes);
  absl::Status EndMember();

  FileWriter file_;
  uint64_t position_ = 0;
  uint64_t missing_bytes_ = 0;  // missing bytes of the current array
  std::vector<ZipMember> members_;
};

}  // namespace gandem
