// SPDX-License-Identifier: Apache-2.0
//
// Parses batches of CIFAR-10 and CIFAR-100 in the "python version": a pickled
// dict with a numpy array of bytes and lists of labels.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

struct CifarBatch {
  // Rows of 3,072 bytes: 1,024 red, green, blue. A view of the pickle, or of
  // `decoded` if the pickle stores them in another form.
  absl::string_view pixels;
  std::unique_ptr<const std::string> decoded;
  std::vector<int64_t> labels;  // `labels` or `fine_labels`, one per row
};

// Uses memory in proportion to the pickle's size.
//   INVALID_ARGUMENT  a pickle of something else; says what is missing.
//   DATA_LOSS         truncated, or not a pickle.
absl::StatusOr<CifarBatch> ParseCifarPickle(absl::string_view pickle);

}  // namespace gandem
