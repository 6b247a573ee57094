// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "pipeline/formats/npy_format.h"
#include "pipeline/formats/npz.h"
#include "pipeline/formats/zip_format.h"

namespace gandem {
namespace {

template <typename... Values>
std::string Extra64(Values... values) {
  return zip::Pack(zip::kExtra64, static_cast<uint16_t>(sizeof...(values) * 8),
                   static_cast<uint64_t>(values)...);
}

}  // namespace

absl::StatusOr<NpzWriter> NpzWriter::Create(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  return NpzWriter(std::move(file));
}

absl::Status NpzWriter::Write(absl::string_view bytes) {
  position_ += bytes.size();
  return file_.Append(bytes);
}

absl::Status NpzWriter::Begin(const std::string& name, DType dtype,
                              std::span<const int64_t> shape) {
  if (name.empty() || absl::StrContains(name, '/') || name.size() > 1000 ||
      std::ranges::find(members_, name, &ZipMember::name) != members_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an array of an .npz file cannot have the name '", name,
                     "', or has it already"));
  }
  GANDEM_ASSIGN_OR_RETURN(const NpyHeader header, MakeNpyHeader(dtype, shape));
  GANDEM_RETURN_IF_ERROR(EndMember());
  ZipMember member = {.name = name,
                      .bytes = header.text.size() + header.data_bytes,
                      .header_offset = position_};
  const std::string file_name = name + ".npy";
  const std::string extra = Extra64(member.bytes, member.bytes);
  members_.push_back(member);
  missing_bytes_ = header.data_bytes;
  // The CRC is not yet known; it follows the data.
  GANDEM_RETURN_IF_ERROR(Write(absl::StrCat(
      zip::Pack(zip::kLocalSignature, zip::kVersion64, zip::kDescriptorFlag,
                zip::kStored, uint16_t{0}, zip::kDate1980, uint32_t{0},
                zip::kIn64, zip::kIn64, static_cast<uint16_t>(file_name.size()),
                static_cast<uint16_t>(extra.size())),
      file_name, extra)));
  members_.back().crc32 = zip::Crc32(0, header.text);
  return Write(header.text);
}

absl::Status NpzWriter::Append(std::span<const std::byte> bytes) {
  if (bytes.size() > missing_bytes_) {
    return absl::FailedPreconditionError(
        absl::StrCat("an array gets ", bytes.size(), " bytes, but only ",
                     missing_bytes_, " are missing"));
  }
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()),
                               bytes.size());
  missing_bytes_ -= bytes.size();
  if (!members_.empty()) {
    members_.back().crc32 = zip::Crc32(members_.back().crc32, text);
  }
  return Write(text);
}

absl::Status NpzWriter::Add(const NamedTensor& tensor) {
  GANDEM_RETURN_IF_ERROR(Begin(tensor.name, tensor.dtype, tensor.shape));
  return Append(tensor.bytes.span());
}

absl::Status NpzWriter::EndMember() {
  if (missing_bytes_ > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "array '", members_.back().name, "' lacks ", missing_bytes_, " bytes"));
  }
  if (members_.empty()) return absl::OkStatus();
  const ZipMember& member = members_.back();
  return Write(zip::Pack(zip::kDescriptorSignature, member.crc32, member.bytes,
                         member.bytes));
}

absl::Status NpzWriter::Finish() {
  GANDEM_RETURN_IF_ERROR(EndMember());
  const uint64_t begin = position_;
  for (const ZipMember& member : members_) {
    const std::string name = member.name + ".npy";
    const std::string extra =
        Extra64(member.bytes, member.bytes, member.header_offset);
    GANDEM_RETURN_IF_ERROR(Write(absl::StrCat(
        zip::Pack(zip::kCentralSignature, zip::kVersion64, zip::kVersion64,
                  zip::kDescriptorFlag, zip::kStored, uint16_t{0},
                  zip::kDate1980, member.crc32, zip::kIn64, zip::kIn64,
                  static_cast<uint16_t>(name.size()),
                  static_cast<uint16_t>(extra.size()), uint16_t{0}, uint16_t{0},
                  uint16_t{0}, uint32_t{0}, zip::kIn64),
        name, extra)));
  }
  const uint64_t end = position_;
  const uint64_t count = members_.size();
  GANDEM_RETURN_IF_ERROR(Write(absl::StrCat(
      zip::Pack(zip::kEnd64Signature, uint64_t{zip::kEnd64Bytes - 12},
                zip::kVersion64, zip::kVersion64, uint32_t{0}, uint32_t{0},
                count, count, end - begin, begin),
      zip::Pack(zip::kLocator64Signature, uint32_t{0}, end, uint32_t{1}),
      zip::Pack(zip::kEndSignature, uint16_t{0}, uint16_t{0}, uint16_t{0xffff},
                uint16_t{0xffff}, zip::kIn64, zip::kIn64, uint16_t{0}))));
  GANDEM_RETURN_IF_ERROR(file_.Sync());
  return file_.Close().status();
}

}  // namespace gandem
