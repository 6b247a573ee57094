// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tensors/tensor_file.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/files/printable.h"
#include "common/status.h"
#include "pipeline/formats/npy_format.h"

namespace gandem {
namespace {

constexpr absl::string_view kNpyStart = "\x93NUMPY";
constexpr int64_t kSafetensorsStart = 8;  // contains the header's size
constexpr absl::string_view kSampleNames[] = {"images", "latents", "waveforms",
                                              "samples", "data"};
constexpr absl::string_view kLabelNames[] = {"labels", "label", "y"};
constexpr int64_t kMaxLabelBytes = int64_t{1} << 30;
constexpr size_t kMaxShownNames = 600;

absl::Status NoSamples(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      what, "; samples are F16 or F32 [N, channels, height, width]"));
}

bool IsSampleType(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kF32;
}

std::string TypeText(DType dtype, std::span<const int64_t> shape) {
  return absl::StrCat(DTypeName(dtype), " [", absl::StrJoin(shape, ", "), "]");
}

// Makes a TensorFile without labels. `shape` is that of all samples together.
absl::StatusOr<TensorFile> SamplesOf(absl::string_view what, DType dtype,
                                     const std::vector<int64_t>& shape,
                                     int64_t offset) {
  const size_t rank = shape.size();
  if (!IsSampleType(dtype) || rank < 2 || rank > 4 ||
      std::ranges::find(shape, 0) != shape.end()) {
    return NoSamples(absl::StrCat(what, " is ", TypeText(dtype, shape)));
  }
  return TensorFile{
      .format = {.dtype = dtype,
                 .shape = {.channels = rank == 4 ? shape[1] : 1,
                           .height = rank == 2 ? 1 : shape[rank - 2],
                           .width = shape[rank - 1]}},
      .size = shape[0],
      .offset = offset};
}

template <typename Number>
std::vector<int64_t> NumbersOf(absl::string_view bytes) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < bytes.size(); at += sizeof(Number)) {
    Number number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof(Number));
    numbers.push_back(static_cast<int64_t>(number));
  }
  return numbers;
}

absl::StatusOr<std::vector<int64_t>> LabelsOfBytes(
    absl::string_view what, DType dtype, const std::vector<int64_t>& shape,
    absl::string_view bytes) {
  std::vector<int64_t> labels;
  if (dtype == DType::kI64) {
    labels = NumbersOf<int64_t>(bytes);
  } else if (dtype == DType::kI32) {
    labels = NumbersOf<int32_t>(bytes);
  } else if (dtype == DType::kU8) {
    labels = NumbersOf<uint8_t>(bytes);
  }
  if (labels.empty() || shape.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " are ", TypeText(dtype, shape),
                     "; labels are whole numbers, I64, I32 or U8 [N]"));
  }
  const auto [least, most] = std::ranges::minmax(labels);
  if (most < 0) return std::vector<int64_t>();
  if (least >= 0 && most <= kMaxLabel) return labels;
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", least < 0 ? least : most,
                   " is among them, and classes are numbered from 0 to ",
                   kMaxLabel, " at most"));
}

const SafetensorsPlace* FindNamed(const std::vector<SafetensorsPlace>& tensors,
                                  std::span<const absl::string_view> names) {
  for (const absl::string_view name : names) {
    const auto found =
        std::ranges::find(tensors, name, &SafetensorsPlace::name);
    if (found != tensors.end()) return &*found;
  }
  return nullptr;
}

// Returns the tensor with the samples; null: none, or ambiguous.
const SafetensorsPlace* FindSamples(
    const std::vector<SafetensorsPlace>& tensors) {
  const SafetensorsPlace* const named = FindNamed(tensors, kSampleNames);
  if (named != nullptr) return named;
  const auto is_one = [](const SafetensorsPlace& tensor) {
    return IsSampleType(tensor.dtype) && tensor.shape.size() >= 2;
  };
  if (std::ranges::count_if(tensors, is_one) != 1) return nullptr;
  return &*std::ranges::find_if(tensors, is_one);
}

absl::StatusOr<std::vector<SafetensorsPlace>> ListSafetensors(
    const RandomAccessFile& file) {
  GANDEM_ASSIGN_OR_RETURN(
      const std::string start,
      file.Read(0, std::min(kSafetensorsStart, file.size())));
  GANDEM_ASSIGN_OR_RETURN(const int64_t head_bytes,
                          SafetensorsHeadBytes(start, file.size()));
  GANDEM_ASSIGN_OR_RETURN(const std::string head, file.Read(0, head_bytes));
  return ParseSafetensorsHead(head, file.size());
}

absl::StatusOr<std::vector<int64_t>> ReadLabels(const RandomAccessFile& file,
                                                const SafetensorsPlace& place,
                                                int64_t samples) {
  const int64_t bytes = place.end - place.begin;
  if (bytes > kMaxLabelBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("its labels have more than ", kMaxLabelBytes, " bytes"));
  }
  GANDEM_ASSIGN_OR_RETURN(const std::string stored,
                          file.Read(place.begin, bytes));
  GANDEM_ASSIGN_OR_RETURN(std::vector<int64_t> labels,
                          LabelsOfBytes(absl::StrCat("its ", place.name),
                                        place.dtype, place.shape, stored));
  if (labels.empty() || std::ssize(labels) == samples) return labels;
  return absl::InvalidArgumentError(absl::StrCat(
      "it has ", samples, " samples and ", labels.size(), " labels"));
}

absl::StatusOr<TensorFile> ReadSafetensorsShard(const RandomAccessFile& file) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<SafetensorsPlace> tensors,
                          ListSafetensors(file));
  const SafetensorsPlace* const samples = FindSamples(tensors);
  if (samples == nullptr) {
    const auto add = [](std::string* out, const SafetensorsPlace& tensor) {
      absl::StrAppend(out, tensor.name, " ",
                      TypeText(tensor.dtype, tensor.shape));
    };
    return NoSamples(absl::StrCat(
        "it has no tensor ", absl::StrJoin(kSampleNames, ", "), ", but ",
        tensors.size(), " others (",
        Printable(absl::StrJoin(tensors, ", ", add), kMaxShownNames), ")"));
  }
  GANDEM_ASSIGN_OR_RETURN(
      TensorFile found,
      SamplesOf(absl::StrCat("its tensor '",
                             Printable(samples->name, kMaxShownNames), "'"),
                samples->dtype, samples->shape, samples->begin));
  const SafetensorsPlace* const labels = FindNamed(tensors, kLabelNames);
  if (labels == nullptr) return found;
  auto read = ReadLabels(file, *labels, found.size);
  if (absl::IsInvalidArgument(read.status())) {
    read = Annotate(read.status(), file.name());
  }
  GANDEM_RETURN_IF_ERROR(UseLabels(std::move(read), found));
  return found;
}

absl::StatusOr<TensorFile> ReadNpyShard(const RandomAccessFile& file) {
  GANDEM_ASSIGN_OR_RETURN(const std::string start,
                          file.Read(0, std::min(kNpyStartBytes, file.size())));
  GANDEM_ASSIGN_OR_RETURN(
      const NpyLayout array,
      ParseNpyStart(start, static_cast<uint64_t>(file.size())));
  if (array.fortran_order) {
    return absl::InvalidArgumentError(
        "it is in Fortran's order: save numpy.ascontiguousarray(it)");
  }
  return SamplesOf("it", array.dtype, array.shape,
                   static_cast<int64_t>(array.header_bytes));
}

}  // namespace

absl::StatusOr<TensorFile> ReadTensorFile(const RandomAccessFile& file) {
  GANDEM_ASSIGN_OR_RETURN(
      const std::string start,
      file.Read(0, std::min<int64_t>(std::ssize(kNpyStart), file.size())));
  auto found =
      start == kNpyStart ? ReadNpyShard(file) : ReadSafetensorsShard(file);
  if (!found.ok()) return Annotate(found.status(), file.name());
  return found;
}

absl::Status UseLabels(absl::StatusOr<std::vector<int64_t>> labels,
                       TensorFile& file) {
  if (absl::IsInvalidArgument(labels.status())) {
    file.unused_labels = std::string(labels.status().message());
    return absl::OkStatus();
  }
  GANDEM_ASSIGN_OR_RETURN(file.labels, std::move(labels));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> ReadLabelArray(
    const RandomAccessFile& file) {
  if (file.size() > kMaxLabelBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.name(), ": labels have ", kMaxLabelBytes, " bytes at most"));
  }
  GANDEM_ASSIGN_OR_RETURN(std::string bytes, file.Read(0, file.size()));
  const auto array = ParseNpy(std::move(bytes));
  if (!array.ok()) return Annotate(array.status(), file.name());
  auto labels = LabelsOfBytes(
      "they", array->dtype, array->shape,
      absl::string_view(reinterpret_cast<const char*>(array->bytes.data()),
                        array->bytes.size()));
  if (!labels.ok()) return Annotate(labels.status(), file.name());
  return labels;
}

}  // namespace gandem
