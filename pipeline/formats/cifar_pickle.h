// SPDX-License-Identifier: Apache-2.0
//
// A batch of CIFAR-10 or CIFAR-100 in the "python version": a pickle of a dict
// with a numpy array of bytes and lists of labels.
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
  // Rows of 3,072 bytes: 1,024 red, green, blue. They lie in the pickle, or in
  // `decoded` where the pickle has them in another form.
  absl::string_view pixels;
  std::unique_ptr<const std::string> decoded;
  std::vector<int64_t> labels;  // `labels`, or else `fine_labels`; as many
};

// Memory is at most a fixed multiple of the pickle's bytes.
//   INVALID_ARGUMENT  a pickle of something else; says what is missing.
//   DATA_LOSS         truncated, or no pickle.
absl::StatusOr<CifarBatch> ParseCifarPickle(absl::string_view pickle);

}  // namespace gandem
