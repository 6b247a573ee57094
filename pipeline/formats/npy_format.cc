// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/npy_format.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kNpyAlignment = 64;   // of the data in the file
constexpr size_t kMaxDimensions = 32;  // numpy's own limit is 64

struct DescrRow {
  absl::string_view descr;
  DType dtype;
};
constexpr DescrRow kDescr[] = {
    {"<f4", DType::kF32},  {"<f8", DType::kF64}, {"<f2", DType::kF16},
    {"<i8", DType::kI64},  {"<i4", DType::kI32}, {"|u1", DType::kU8},
    {"|b1", DType::kBool},
};

absl::Status CorruptNpy(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("not an .npy array: ", what));
}

// Returns the value of `key` in a Python dict of texts, booleans and tuples of
// numbers, as written by numpy: up to the first comma outside parentheses.
std::optional<absl::string_view> ValueOf(absl::string_view dict,
                                         absl::string_view key) {
  const std::string quoted = absl::StrCat("'", key, "':");
  const size_t at = dict.find(quoted);
  if (at == absl::string_view::npos) return std::nullopt;
  absl::string_view value =
      absl::StripLeadingAsciiWhitespace(dict.substr(at + quoted.size()));
  const bool tuple = absl::StartsWith(value, "(");
  const size_t end = value.find_first_of(tuple ? ")" : ",}");
  if (end == absl::string_view::npos) return std::nullopt;
  return value.substr(0, tuple ? end + 1 : end);
}

std::optional<std::vector<int64_t>> ShapeOf(absl::string_view tuple) {
  if (!absl::ConsumePrefix(&tuple, "(") || !absl::ConsumeSuffix(&tuple, ")")) {
    return std::nullopt;
  }
  std::vector<int64_t> shape;
  for (const absl::string_view part :
       absl::StrSplit(tuple, ',', absl::SkipWhitespace())) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size) || size < 0 ||
        shape.size() == kMaxDimensions) {
      return std::nullopt;
    }
    shape.push_back(size);
  }
  return shape;
}

std::optional<uint64_t> DataBytes(DType dtype, std::span<const int64_t> shape) {
  int64_t bytes = BytesPerElement(dtype);
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      return std::nullopt;
    }
  }
  return static_cast<uint64_t>(bytes);
}

// Converts elements from column-major to row-major order.
std::vector<std::byte> FromFortranOrder(std::span<const std::byte> bytes,
                                        std::span<const int64_t> shape,
                                        size_t element_bytes) {
  std::vector<std::byte> out(bytes.size());
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t to = 0; to < out.size(); to += element_bytes) {
    int64_t from = 0;
    for (size_t d = shape.size(); d-- > 0;) from = from * shape[d] + index[d];
    std::memcpy(out.data() + to,
                bytes.data() + static_cast<size_t>(from) * element_bytes,
                element_bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

struct SplitNpy {
  absl::string_view dict;
  size_t bytes = 0;  // of everything before the data
};

absl::StatusOr<SplitNpy> SplitHeader(absl::string_view file) {
  absl::string_view rest = file;
  if (!absl::ConsumePrefix(&rest, kNpyMagic) || rest.size() < 6) {
    return CorruptNpy("it does not begin as one");
  }
  const int version = rest[0];
  if (version < 1 || version > 3) {
    return CorruptNpy(
        absl::StrCat("format version ", version, " is not known"));
  }
  const size_t size_bytes = version == 1 ? 2 : 4;
  uint32_t size = 0;
  std::memcpy(&size, rest.data() + 2, size_bytes);
  rest.remove_prefix(2 + size_bytes);
  if (size > rest.size()) return CorruptNpy("its header is cut off");
  return SplitNpy{.dict = rest.substr(0, size),
                  .bytes = file.size() - rest.size() + size};
}

}  // namespace

absl::StatusOr<NpyLayout> ParseNpyLayout(absl::string_view begin) {
  GANDEM_ASSIGN_OR_RETURN(const SplitNpy header, SplitHeader(begin));
  const auto descr = ValueOf(header.dict, "descr");
  const auto fortran = ValueOf(header.dict, "fortran_order");
  const auto shape_text = ValueOf(header.dict, "shape");
  if (!descr || !shape_text || (fortran != "True" && fortran != "False")) {
    return CorruptNpy("its header has no descr, fortran_order or shape");
  }
  const auto* const row = std::ranges::find_if(kDescr, [&](const DescrRow& r) {
    return *descr == absl::StrCat("'", r.descr, "'");
  });
  if (row == std::end(kDescr)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "elements of type ", absl::CHexEscape(*descr),
        " are not read; convert them with numpy's astype, for example to "
        "float64"));
  }
  std::optional<std::vector<int64_t>> shape = ShapeOf(*shape_text);
  if (!shape.has_value()) return CorruptNpy("its shape is none");
  const std::optional<uint64_t> data_bytes = DataBytes(row->dtype, *shape);
  if (!data_bytes.has_value()) return CorruptNpy("its shape is too large");
  return NpyLayout{.dtype = row->dtype,
                   .shape = *shape,
                   .fortran_order = fortran == "True" && shape->size() > 1,
                   .header_bytes = header.bytes,
                   .data_bytes = *data_bytes};
}

absl::StatusOr<NpyLayout> ParseNpyStart(absl::string_view start,
                                        uint64_t file_bytes) {
  GANDEM_ASSIGN_OR_RETURN(NpyLayout layout, ParseNpyLayout(start));
  if (file_bytes < layout.header_bytes ||
      layout.data_bytes != file_bytes - layout.header_bytes) {
    return CorruptNpy(
        absl::StrCat(file_bytes - std::min(file_bytes, layout.header_bytes),
                     " bytes are not ", DTypeName(layout.dtype), " [",
                     absl::StrJoin(layout.shape, ", "), "]"));
  }
  return layout;
}

absl::StatusOr<NamedTensor> ParseNpy(std::string file) {
  GANDEM_ASSIGN_OR_RETURN(NpyLayout layout, ParseNpyStart(file, file.size()));
  const auto held = std::make_shared<const std::string>(std::move(file));
  const auto data =
      std::as_bytes(std::span(*held)).subspan(layout.header_bytes);
  const auto element = static_cast<size_t>(BytesPerElement(layout.dtype));
  // The file determines the header's size, so the data may be misaligned.
  const bool aligned = reinterpret_cast<uintptr_t>(data.data()) % element == 0;
  SharedBytes bytes;
  if (layout.fortran_order) {
    bytes = SharedBytes(FromFortranOrder(data, layout.shape, element));
  } else {
    bytes = aligned ? SharedBytes(held, data) : SharedBytes::Copy(data);
  }
  return NamedTensor{.name = {},
                     .dtype = layout.dtype,
                     .shape = std::move(layout.shape),
                     .bytes = std::move(bytes)};
}

absl::StatusOr<NpyHeader> MakeNpyHeader(DType dtype,
                                        std::span<const int64_t> shape) {
  const auto* const row = std::ranges::find(kDescr, dtype, &DescrRow::dtype);
  const std::optional<uint64_t> data_bytes = DataBytes(dtype, shape);
  if (row == std::end(kDescr) || !data_bytes || shape.size() > kMaxDimensions) {
    return absl::InvalidArgumentError(
        absl::StrCat("an .npy array cannot be ", DTypeName(dtype), " [",
                     absl::StrJoin(shape, ", "), "]"));
  }
  std::string dict = absl::StrCat(
      "{'descr': '", row->descr, "', 'fortran_order': False, 'shape': (",
      absl::StrJoin(shape, ", "), shape.size() == 1 ? ",)" : ")", ", }");
  const size_t before = kNpyMagic.size() + 2 + 2;
  const size_t total = (before + dict.size() + 1 + kNpyAlignment - 1) /
                       kNpyAlignment * kNpyAlignment;
  dict.resize(total - before - 1, ' ');
  dict.push_back('\n');
  const auto size = static_cast<uint16_t>(dict.size());
  std::string text(kNpyMagic);
  text.append("\x01\x00", 2);
  text.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return NpyHeader{.text = text + dict, .data_bytes = *data_bytes};
}

}  // namespace gandem
