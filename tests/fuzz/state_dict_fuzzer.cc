// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of pickles, after the three pickles that begin a file of
// torch.save() before PyTorch 1.6. (LibTorch reads the zip archive of later
// versions; its pickle is of the same kind.)
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/pickle.h"
#include "common/checkpoint/state_dict_tensors.h"
#include "tests/common/checkpoint/hand_pickle.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/named_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const std::string file =
      gandem::testing::PickleStream(std::string(TextOf(data, size)));
  GANDEM_CHECK(IsPickleStream(file));
  const auto tensors = ParsePickleStream(std::as_bytes(std::span(file)));
  if (!tensors.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(tensors.status()) ||
                 absl::IsDataLoss(tensors.status()));
    return 0;
  }
  size_t bytes = 0;
  for (const NamedTensor& tensor : *tensors) {
    CheckTensor(tensor);
    bytes += tensor.bytes.size();
  }
  GANDEM_CHECK(bytes <= size_t{kMaxStateDictCopies} * file.size());
  return 0;
}
