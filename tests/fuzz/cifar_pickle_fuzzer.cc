// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of CIFAR's pickles.
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "pipeline/formats/cifar_pickle.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const auto batch = ParseCifarPickle(TextOf(data, size));
  if (!batch.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(batch.status()) ||
                 absl::IsInvalidArgument(batch.status()));
    return 0;
  }
  GANDEM_CHECK(batch->pixels.size() == 3072 * batch->labels.size());
  GANDEM_CHECK(batch->pixels.size() <= size);
  return 0;
}
