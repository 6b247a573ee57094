// SPDX-License-Identifier: Apache-2.0
//
// The .npy reader on any bytes.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "pipeline/formats/npy_format.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/named_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const auto array = ParseNpy(std::string(TextOf(data, size)));
  if (!array.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(array.status()) ||
                 absl::IsDataLoss(array.status()));
    return 0;
  }
  CheckTensor(*array);
  GANDEM_CHECK(array->bytes.size() <= size);
  // What was read can be written, and is read again in the same way.
  const auto header = MakeNpyHeader(array->dtype, array->shape);
  GANDEM_CHECK_OK(header.status());
  GANDEM_CHECK(header->data_bytes == array->bytes.size());
  const auto again = ParseNpy(absl::StrCat(
      header->text,
      absl::string_view(reinterpret_cast<const char*>(array->bytes.data()),
                        array->bytes.size())));
  GANDEM_CHECK_OK(again.status());
  CheckSame(*again, *array);
  return 0;
}
