// SPDX-License-Identifier: Apache-2.0
//
// Answers of S3 in XML: lists of objects (ListObjectsV2), and errors. The
// parser looks only for the elements that matter, wherever they are. It fetches
// nothing and expands only the entities of XML's five special characters.
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
  std::string etag = {};  // with its quotes
};

struct S3Page {
  std::vector<S3Object> objects = {};
  // Token of the next page; empty: this page is the last one.
  std::string continuation = {};
};

//   DATA_LOSS  no such list, an object without key or size, or a page that says
//              that there are more without saying where.
absl::StatusOr<S3Page> ParseS3Page(absl::string_view xml);

// The Code of an error, such as ExpiredToken; empty: it is no such answer.
std::string S3ErrorCode(absl::string_view xml);

}  // namespace gandem
