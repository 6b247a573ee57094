// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the safetensors reader. The bytes up to the first zero byte are the
// JSON header, whose size is prepended; the rest are the tensors. Without a
// zero byte the input is the whole file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/safetensors.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/named_tensors.h"

namespace gandem {
namespace {

std::string FileOf(absl::string_view input) {
  const size_t end = input.find('\0');
  if (end == absl::string_view::npos) return std::string(input);
  const uint64_t header = end;
  return absl::StrCat(
      absl::string_view(reinterpret_cast<const char*>(&header), 8),
      input.substr(0, end), input.substr(end + 1));
}

std::vector<NamedTensor> ByName(std::vector<NamedTensor> tensors) {
  std::ranges::sort(tensors, {}, &NamedTensor::name);
  return tensors;
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const std::string file = FileOf(TextOf(data, size));
  const auto tensors =
      ParseSafetensors(SharedBytes::Copy(std::as_bytes(std::span(file))));
  if (!tensors.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(tensors.status()));
    return 0;
  }
  size_t bytes = 0;
  for (const NamedTensor& tensor : *tensors) {
    CheckTensor(tensor);
    bytes += tensor.bytes.size();
  }
  GANDEM_CHECK(bytes <= file.size());
  const auto written = SerializeSafetensors(*tensors);
  GANDEM_CHECK_OK(written.status());
  const auto again = ParseSafetensors(*written);
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(again->size() == tensors->size());
  const auto first = ByName(*tensors), second = ByName(*again);
  for (size_t i = 0; i < first.size(); ++i) CheckSame(first[i], second[i]);
  return 0;
}
