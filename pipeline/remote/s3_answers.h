// SPDX-License-Identifier: Apache-2.0
//
// Parses S3's XML answers: object lists (ListObjectsV2) and errors. Looks only
// for the required elements, at any depth. Fetches nothing and expands only
// XML's five predefined entities.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

struct S3Object {
  std::string key = {};
  int64_t bytes = 0;
  std::string etag = {};  // with quotes
};

struct S3Page {
  std::vector<S3Object> objects = {};
  // Token of the next page; empty: this is the last page.
  std::string continuation = {};
};

//   DATA_LOSS  not such a list, an object without key or size, or a truncated
//              page without a continuation token.
absl::StatusOr<S3Page> ParseS3Page(absl::string_view xml);

// Returns the Code of an error, such as ExpiredToken; "" if there is none.
std::string S3ErrorCode(absl::string_view xml);

}  // namespace gandem
