// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/safetensors_writer.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/utf8.h"
#include "common/status.h"

namespace gandem {
namespace {

// nlohmann::json finds keys in logarithmic time, ordered_json in linear time.
using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory");

constexpr absl::string_view kMetadata = "__metadata__";
constexpr uint64_t kMaxHeader = 16 << 20;
constexpr size_t kPrefix = 8;  // the header's size
// Each tensor costs far more memory than its entry in the header.
constexpr size_t kMaxTensors = 1 << 16;
constexpr size_t kMaxTensorRank = 64;  // PyTorch's own limit

struct DTypeRow {
  DType dtype;
  absl::string_view name;
  size_t size;
};
constexpr DTypeRow kDTypes[] = {
    {DType::kF32, "F32", 4}, {DType::kF64, "F64", 8},
    {DType::kF16, "F16", 2}, {DType::kBF16, "BF16", 2},
    {DType::kI64, "I64", 8}, {DType::kI32, "I32", 4},
    {DType::kU8, "U8", 1},   {DType::kBool, "BOOL", 1},
};

const DTypeRow& RowOf(DType dtype) {
  return *std::ranges::find(kDTypes, dtype, &DTypeRow::dtype);
}

// Returns nullopt for bad dimensions or more than 2^63 - 1 bytes.
std::optional<int64_t> TensorBytes(DType dtype,
                                   std::span<const int64_t> shape) {
  if (shape.size() > kMaxTensorRank) return std::nullopt;
  int64_t bytes = BytesPerElement(dtype);
  for (const int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(bytes, dimension, &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

std::string ShapeText(std::span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::Status CheckTensors(const std::string& path,
                          std::span<const NamedTensor> tensors,
                          const std::map<std::string, std::string>& metadata) {
  Faults faults(path);
  if (tensors.size() > kMaxTensors) {
    faults.Add(absl::StrCat(tensors.size(), " tensors are more than a file of ",
                            kMaxTensors));
  }
  std::set<absl::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == kMetadata || !IsValidUtf8(tensor.name)) {
      faults.Add(
          absl::StrCat("a tensor cannot have the name '", tensor.name, "'"));
    }
    if (!names.insert(tensor.name).second) {
      faults.Add(absl::StrCat("two tensors have the name '", tensor.name, "'"));
    }
    const auto bytes = TensorBytes(tensor.dtype, tensor.shape);
    if (bytes != static_cast<int64_t>(tensor.bytes.size())) {
      faults.Add(absl::StrCat("tensor '", tensor.name, "' has ",
                              tensor.bytes.size(), " bytes, which is not ",
                              DTypeName(tensor.dtype), " ",
                              ShapeText(tensor.shape)));
    }
  }
  for (const auto& [key, value] : metadata) {
    if (!IsValidUtf8(key) || !IsValidUtf8(value)) {
      faults.Add(absl::StrCat("metadata '", key, "' is not UTF-8"));
    }
  }
  return faults.ToStatus();
}

std::string HeaderOf(std::span<const NamedTensor* const> tensors,
                     const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    entries.push_back(
        absl::StrCat("\"", kMetadata, "\":", Json(metadata).dump()));
  }
  size_t offset = 0;
  for (const NamedTensor* tensor : tensors) {
    const size_t end = offset + tensor->bytes.size();
    entries.push_back(absl::StrCat(
        Json(tensor->name).dump(), ":{\"dtype\":\"", DTypeName(tensor->dtype),
        "\",\"shape\":[", absl::StrJoin(tensor->shape, ","),
        "],\"data_offsets\":[", offset, ",", end, "]}"));
    offset = end;
  }
  std::string text = absl::StrCat("{", absl::StrJoin(entries, ","), "}");
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the tensors
  return text;
}

struct Contents {
  std::string head;                         // the header after its size
  std::vector<const NamedTensor*> tensors;  // in the order of their bytes
};

// Keeps the caller's order among tensors of equal element size.
absl::StatusOr<Contents> Arrange(
    const std::string& path, std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string>& metadata) {
  GANDEM_RETURN_IF_ERROR(CheckTensors(path, tensors, metadata));
  Contents contents;
  for (const NamedTensor& tensor : tensors) contents.tensors.push_back(&tensor);
  std::ranges::stable_sort(
      contents.tensors, std::greater<>(),
      [](const NamedTensor* tensor) { return BytesPerElement(tensor->dtype); });
  const std::string header = HeaderOf(contents.tensors, metadata);
  const uint64_t size = header.size();
  if (size > kMaxHeader) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the header would have ", size,
                     " bytes, the limit is ", kMaxHeader));
  }
  contents.head.resize(kPrefix);
  std::memcpy(contents.head.data(), &size, kPrefix);
  contents.head += header;
  return contents;
}

absl::Status Corrupt(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("not a safetensors file: ", what));
}

// Parses a short list of numbers in [0, 2^63 - 1].
std::optional<std::vector<int64_t>> Numbers(const Json& json) {
  if (!json.is_array() || json.size() > kMaxTensorRank) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Json& element : json) {
    if (!element.is_number_unsigned()) return std::nullopt;
    numbers.push_back(element.get<int64_t>());
    if (numbers.back() < 0) return std::nullopt;  // 2^63 or more
  }
  return numbers;
}

// Checks a single entry; ParseSafetensorsHead checks that entries cover the
// file. Offsets count from the end of the header.
absl::StatusOr<SafetensorsPlace> ParseEntry(const std::string& name,
                                            const Json& json) {
  const auto corrupt = [&name](absl::string_view what) {
    return Corrupt(absl::StrCat("tensor '", name, "' ", what));
  };
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") ||
      !json.contains("shape") || !json.contains("data_offsets")) {
    return corrupt("has other fields than dtype, shape and data_offsets");
  }
  if (!json["dtype"].is_string()) return corrupt("has a dtype that is no text");
  const auto& dtype_name = json["dtype"].get_ref<const std::string&>();
  const auto* const row =
      std::ranges::find(kDTypes, dtype_name, &DTypeRow::name);
  if (row == std::end(kDTypes)) {
    return corrupt(absl::StrCat("has the unknown dtype '", dtype_name, "'"));
  }
  std::optional<std::vector<int64_t>> shape = Numbers(json["shape"]);
  if (!shape.has_value()) return corrupt("has a bad shape");
  const std::optional<std::vector<int64_t>> offsets =
      Numbers(json["data_offsets"]);
  if (!offsets.has_value() || offsets->size() != 2 ||
      (*offsets)[0] > (*offsets)[1]) {
    return corrupt("has bad data_offsets");
  }
  SafetensorsPlace place = {.name = name,
                            .dtype = row->dtype,
                            .shape = *std::move(shape),
                            .begin = (*offsets)[0],
                            .end = (*offsets)[1]};
  if (TensorBytes(row->dtype, place.shape) != place.end - place.begin) {
    return corrupt(absl::StrCat("has ", place.end - place.begin,
                                " bytes, which is not ", dtype_name, " ",
                                ShapeText(place.shape)));
  }
  return place;
}

absl::StatusOr<std::map<std::string, std::string>> ParseMetadata(
    const Json& header) {
  std::map<std::string, std::string> metadata;
  const auto found = header.find(kMetadata);
  if (found == header.end()) return metadata;
  if (!found->is_object()) return Corrupt("__metadata__ is no JSON object");
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) {
      return Corrupt(absl::StrCat("metadata '", key, "' is no text"));
    }
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

absl::string_view TextOfFile(const SharedBytes& file) {
  return absl::string_view(reinterpret_cast<const char*>(file.data()),
                           file.size());
}

absl::StatusOr<Json> HeaderOfHead(absl::string_view head, int64_t file_bytes) {
  GANDEM_ASSIGN_OR_RETURN(const int64_t head_bytes,
                          SafetensorsHeadBytes(head, file_bytes));
  if (static_cast<int64_t>(head.size()) < head_bytes) {
    return Corrupt("its header is cut off");
  }
  Json header = Json::parse(head.begin() + kPrefix, head.begin() + head_bytes,
                            /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (header.is_discarded()) return Corrupt("the header is not JSON");
  if (!header.is_object()) return Corrupt("the header is no JSON object");
  if (header.size() > kMaxTensors + 1) {
    return Corrupt(
        absl::StrCat("more than ", kMaxTensors, " names in the header"));
  }
  return header;
}

absl::StatusOr<SharedBytes> ReadWhole(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(std::string contents, ReadFile(path));
  const auto held = std::make_shared<const std::string>(std::move(contents));
  return SharedBytes(held,
                     std::as_bytes(std::span(held->data(), held->size())));
}

}  // namespace

int64_t BytesPerElement(DType dtype) {
  return static_cast<int64_t>(RowOf(dtype).size);
}

absl::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

absl::StatusOr<FileSummary> WriteSafetensors(
    const std::string& path, std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string>& metadata) {
  return WriteSafetensors(path, tensors, metadata,
                          [tensors](size_t index, FileWriter& writer) {
                            return writer.Append(tensors[index].bytes.span());
                          });
}

absl::StatusOr<FileSummary> WriteSafetensors(
    const std::string& path, std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string>& metadata,
    absl::FunctionRef<absl::Status(size_t index, FileWriter& writer)> append) {
  GANDEM_ASSIGN_OR_RETURN(const Contents contents,
                          Arrange(path, tensors, metadata));
  GANDEM_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  GANDEM_RETURN_IF_ERROR(writer.Append(contents.head));
  for (const NamedTensor* tensor : contents.tensors) {
    GANDEM_RETURN_IF_ERROR(append(tensor - tensors.data(), writer));
  }
  GANDEM_RETURN_IF_ERROR(writer.Sync());
  return writer.Close();
}

absl::StatusOr<SharedBytes> SerializeSafetensors(
    std::span<const NamedTensor> tensors) {
  GANDEM_ASSIGN_OR_RETURN(const Contents contents,
                          Arrange("tensors in memory", tensors, {}));
  std::vector<std::byte> bytes;
  size_t size = contents.head.size();
  for (const auto* tensor : contents.tensors) size += tensor->bytes.size();
  bytes.reserve(size);
  const auto head = std::as_bytes(std::span(contents.head));
  bytes.assign(head.begin(), head.end());
  for (const NamedTensor* tensor : contents.tensors) {
    const auto data = tensor->bytes.span();
    bytes.insert(bytes.end(), data.begin(), data.end());
  }
  return SharedBytes(std::move(bytes));
}

absl::StatusOr<std::vector<NamedTensor>> ReadSafetensors(
    const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const SharedBytes file, ReadWhole(path));
  auto tensors = ParseSafetensors(file);
  if (!tensors.ok()) return Annotate(tensors.status(), path);
  return tensors;
}

absl::StatusOr<std::map<std::string, std::string>> ReadSafetensorsMetadata(
    const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const SharedBytes file, ReadWhole(path));
  const absl::StatusOr<Json> header =
      HeaderOfHead(TextOfFile(file), static_cast<int64_t>(file.size()));
  if (!header.ok()) return Annotate(header.status(), path);
  auto metadata = ParseMetadata(*header);
  if (!metadata.ok()) return Annotate(metadata.status(), path);
  return metadata;
}

// Does not trust any size in the file.
absl::StatusOr<int64_t> SafetensorsHeadBytes(absl::string_view start,
                                             int64_t file_bytes) {
  if (start.size() < kPrefix) return Corrupt("it has less than 8 bytes");
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, start.data(), kPrefix);
  if (header_bytes > kMaxHeader ||
      static_cast<int64_t>(kPrefix + header_bytes) > file_bytes) {
    return Corrupt(absl::StrCat("a header of ", header_bytes,
                                " bytes does not fit a file of ", file_bytes,
                                " bytes or the limit of ", kMaxHeader));
  }
  return static_cast<int64_t>(kPrefix + header_bytes);
}

// Tensors must be contiguous, so no byte is read twice or hidden.
absl::StatusOr<std::vector<SafetensorsPlace>> ParseSafetensorsHead(
    absl::string_view head, int64_t file_bytes) {
  GANDEM_ASSIGN_OR_RETURN(const Json header, HeaderOfHead(head, file_bytes));
  GANDEM_ASSIGN_OR_RETURN(const int64_t head_bytes,
                          SafetensorsHeadBytes(head, file_bytes));
  GANDEM_RETURN_IF_ERROR(ParseMetadata(header));
  std::vector<SafetensorsPlace> places;
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadata) continue;
    GANDEM_ASSIGN_OR_RETURN(SafetensorsPlace place, ParseEntry(name, json));
    places.push_back(std::move(place));
  }
  std::ranges::stable_sort(places, {}, [](const SafetensorsPlace& place) {
    return std::pair(place.begin, place.end);
  });

  const int64_t data_bytes = file_bytes - head_bytes;
  int64_t position = 0;
  for (SafetensorsPlace& place : places) {
    if (place.begin != position) {
      return Corrupt(absl::StrCat("tensor '", place.name, "' begins at byte ",
                                  place.begin, ", the one before ends at ",
                                  position));
    }
    if (place.end > data_bytes) {
      return Corrupt(absl::StrCat("tensor '", place.name, "' ends at byte ",
                                  place.end, ", the file has ", data_bytes));
    }
    position = place.end;
    place.begin += head_bytes;
    place.end += head_bytes;
  }
  if (position != data_bytes) {
    return Corrupt(absl::StrCat(data_bytes - position,
                                " bytes at the end belong to no tensor"));
  }
  return places;
}

absl::StatusOr<std::vector<NamedTensor>> ParseSafetensors(
    const SharedBytes& file) {
  GANDEM_ASSIGN_OR_RETURN(
      std::vector<SafetensorsPlace> places,
      ParseSafetensorsHead(TextOfFile(file),
                           static_cast<int64_t>(file.size())));
  std::vector<NamedTensor> tensors;
  for (SafetensorsPlace& place : places) {
    SharedBytes bytes =
        file.Slice(static_cast<size_t>(place.begin),
                   static_cast<size_t>(place.end - place.begin));
    // Other programs may write unaligned tensors.
    const size_t alignment = RowOf(place.dtype).size;
    if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment != 0) {
      bytes = SharedBytes::Copy(bytes.span());
    }
    tensors.push_back({.name = std::move(place.name),
                       .dtype = place.dtype,
                       .shape = std::move(place.shape),
                       .bytes = std::move(bytes)});
  }
  return tensors;
}

}  // namespace gandem
