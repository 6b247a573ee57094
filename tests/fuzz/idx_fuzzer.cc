// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the IDX reader, plain or compressed. Byte 0 is the number of
// dimensions that the caller expects.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "pipeline/formats/idx_reader.h"
#include "tests/fuzz/input_file.h"

namespace gandem {
namespace {

constexpr int64_t kMostDeflated = 1032;  // maximum ratio

std::string FileOf(const IdxArray& array) {
  std::string file = {0, 0, 8, static_cast<char>(array.shape.size())};
  for (const int64_t length : array.shape) {
    for (const int shift : {24, 16, 8, 0}) {
      file.push_back(static_cast<char>(length >> shift & 0xff));
    }
  }
  file.append(array.values.begin(), array.values.end());
  return file;
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  if (size == 0) return 0;
  const int num_dimensions = 1 + data[0] % 4;
  const InputFile input(TextOf(data + 1, size - 1));
  const auto array = ReadIdx(input.path(), num_dimensions);
  if (!array.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(array.status()) ||
                 absl::IsDataLoss(array.status()));
    return 0;
  }
  int64_t total = 1;
  for (const int64_t length : array->shape) {
    GANDEM_CHECK(length >= 1);
    total *= length;
  }
  GANDEM_CHECK(static_cast<int64_t>(array->values.size()) == total);
  GANDEM_CHECK(total <= kMostDeflated * static_cast<int64_t>(size));
  const auto shape = ReadIdxShape(input.path(), num_dimensions);
  GANDEM_CHECK_OK(shape.status());
  GANDEM_CHECK(*shape == array->shape);
  const InputFile output(FileOf(*array));
  const auto again = ReadIdx(output.path(), num_dimensions);
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(again->shape == array->shape && again->values == array->values);
  return 0;
}
