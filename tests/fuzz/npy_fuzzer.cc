// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the .npy reader and the reader of shards of tensors and labels. For
// shards in safetensors, the bytes up to the first zero byte are also the JSON
// header, whose size is prepended.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "pipeline/formats/npy_format.h"
#include "pipeline/tensors/tensor_file.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/named_tensors.h"

namespace gandem {
namespace {

void CheckRefusal(const absl::Status& status) {
  GANDEM_CHECK(absl::IsInvalidArgument(status) || absl::IsDataLoss(status));
}

void CheckArray(absl::string_view input) {
  const auto array = ParseNpy(std::string(input));
  if (!array.ok()) return CheckRefusal(array.status());
  CheckTensor(*array);
  GANDEM_CHECK(array->bytes.size() <= input.size());
  const auto header = MakeNpyHeader(array->dtype, array->shape);
  GANDEM_CHECK_OK(header.status());
  GANDEM_CHECK(header->data_bytes == array->bytes.size());
  const auto again = ParseNpy(absl::StrCat(
      header->text,
      absl::string_view(reinterpret_cast<const char*>(array->bytes.data()),
                        array->bytes.size())));
  GANDEM_CHECK_OK(again.status());
  CheckSame(*again, *array);
}

void CheckShard(std::string bytes) {
  const auto file = FileInMemory("input", std::move(bytes));
  const auto shard = ReadTensorFile(*file);
  if (!shard.ok()) return CheckRefusal(shard.status());
  GANDEM_CHECK(shard->size >= 1 && shard->offset >= 0);
  const int64_t sample = shard->format.sample_bytes();
  GANDEM_CHECK(sample >= 2 && sample <= file->size());
  const auto last =
      file->Read(shard->offset + (shard->size - 1) * sample, sample);
  GANDEM_CHECK_OK(last.status());
  GANDEM_CHECK(shard->labels.empty() ||
               static_cast<int64_t>(shard->labels.size()) == shard->size);
  for (const int64_t label : shard->labels) {
    GANDEM_CHECK(label >= 0 && label <= kMaxLabel);
  }
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const absl::string_view input = TextOf(data, size);
  CheckArray(input);
  CheckShard(std::string(input));
  const size_t end = input.find('\0');
  if (end != absl::string_view::npos) {
    const uint64_t header = end;
    CheckShard(absl::StrCat(
        absl::string_view(reinterpret_cast<const char*>(&header), 8),
        input.substr(0, end), input.substr(end + 1)));
  }
  const auto labels =
      ReadLabelArray(*FileInMemory("input", std::string(input)));
  if (!labels.ok()) CheckRefusal(labels.status());
  return 0;
}
