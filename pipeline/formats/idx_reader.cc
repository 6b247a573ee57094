// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/idx_reader.h"

#include <iterator>
#include <limits>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "pipeline/formats/gzip.h"
#include "pipeline/remote/open_file.h"

namespace gandem {
namespace {

constexpr int kUnsignedByte = 0x08;

absl::Status Truncated(const std::string& path, absl::string_view what,
                       int64_t expected, int64_t found) {
  return absl::DataLossError(
      absl::StrCat(path, ": the file is truncated: expected ", expected,
                   " bytes of ", what, ", found ", found));
}

// Returns "" for an unknown type.
absl::string_view TypeName(int type) {
  constexpr absl::string_view kNames[] = {
      "unsigned byte", "signed byte", "", "short", "int", "float", "double"};
  const int index = type - kUnsignedByte;
  return index >= 0 && index < std::ssize(kNames) ? kNames[index] : "";
}

absl::Status CheckMagic(const std::string& path, std::span<const uint8_t> magic,
                        int num_dimensions) {
  const std::string expected =
      absl::StrFormat("expected the magic number 0x0000080%d", num_dimensions);
  const std::string found = absl::StrFormat("0x%02x%02x%02x%02x", magic[0],
                                            magic[1], magic[2], magic[3]);
  const absl::string_view type = TypeName(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || type.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not an IDX file: ", expected, ", found ", found));
  }
  if (magic[2] != kUnsignedByte) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": IDX values of type ", type,
                     " are not supported: ", expected, " (unsigned byte)"));
  }
  if (magic[3] != num_dimensions) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": IDX file with ", magic[3], " dimensions: ", expected, " (",
        num_dimensions, num_dimensions == 1 ? " dimension)" : " dimensions)",
        ", found ", found));
  }
  return absl::OkStatus();
}

int64_t HeaderBytes(int num_dimensions) { return 4 + 4 * num_dimensions; }

absl::StatusOr<std::vector<int64_t>> ReadShape(const RandomAccessFile& file,
                                               int num_dimensions) {
  const std::string& path = file.name();
  const int64_t header_bytes = HeaderBytes(num_dimensions);
  GANDEM_ASSIGN_OR_RETURN(const std::vector<uint8_t> header,
                          Unpacked(file, header_bytes));
  if (header.size() >= 4) {
    GANDEM_RETURN_IF_ERROR(CheckMagic(path, header, num_dimensions));
  }
  if (std::ssize(header) < header_bytes) {
    return Truncated(path, "IDX header", header_bytes, std::ssize(header));
  }
  std::vector<int64_t> shape;
  int64_t total = 1;
  for (int i = 0; i < num_dimensions; ++i) {
    const uint8_t* bytes = header.data() + 4 + 4 * i;
    const int64_t length = int64_t{bytes[0]} << 24 | int64_t{bytes[1]} << 16 |
                           int64_t{bytes[2]} << 8 | int64_t{bytes[3]};
    // Leave room for the header and one more byte.
    if (length == 0 ||
        total > (std::numeric_limits<int64_t>::max() - 256) / length) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": IDX dimension ", i, " is ", length,
                       "; expected at least 1 and a total below 2^63"));
    }
    total *= length;
    shape.push_back(length);
  }
  return shape;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ReadIdxShape(
    const std::string& path_or_url, int num_dimensions) {
  GANDEM_ASSIGN_OR_RETURN(const auto file, OpenFile(path_or_url));
  return ReadShape(*file, num_dimensions);
}

absl::StatusOr<IdxArray> ReadIdx(const std::string& path_or_url,
                                 int num_dimensions) {
  GANDEM_ASSIGN_OR_RETURN(const auto file, OpenFile(path_or_url));
  const std::string& path = file->name();
  IdxArray array;
  GANDEM_ASSIGN_OR_RETURN(array.shape, ReadShape(*file, num_dimensions));
  int64_t total = 1;
  for (const int64_t length : array.shape) total *= length;
  const int64_t header_bytes = HeaderBytes(num_dimensions);
  // Reading one more byte makes zlib check the CRC at the end.
  GANDEM_ASSIGN_OR_RETURN(array.values,
                          Unpacked(*file, header_bytes + total + 1));
  array.values.erase(array.values.begin(), array.values.begin() + header_bytes);
  const std::string shape = absl::StrJoin(array.shape, " x ");
  if (std::ssize(array.values) < total) {
    return Truncated(path, absl::StrCat("values (", shape, ")"), total,
                     std::ssize(array.values));
  }
  if (std::ssize(array.values) > total) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": bytes follow the last value: expected exactly ",
                     total, " values (", shape, ")"));
  }
  return array;
}

}  // namespace gandem
