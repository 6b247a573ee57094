// SPDX-License-Identifier: Apache-2.0
//
// What of an answer's header (RFC 9110) matters to who reads a file in ranges.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gandem {

// Content-Range: bytes FIRST-LAST/TOTAL.
struct ContentRange {
  int64_t first = 0;
  int64_t last = 0;
  int64_t total = 0;  // > last
};

struct HttpHeaders {
  std::optional<int64_t> content_length = {};
  std::optional<ContentRange> range = {};
  std::string etag = {};           // with its quotes, and W/ if it is weak
  std::string last_modified = {};  // as it was sent
  std::string content_type = {};
  // A date is counted from the time of day of this machine.
  std::optional<absl::Duration> retry_after = {};
  // x-amz-bucket-region: where the bucket is.
  std::string region = {};
};

// Takes over what `line` says, "Name: value" with its line end; a line that
// says nothing of the above, or nonsense, changes nothing. A status line begins
// a new answer: all from before is dropped.
void AddHeaderLine(absl::string_view line, HttpHeaders& headers);

// Of RFC 9110 section 8.8.1: equal in every byte. A weak one says less.
bool IsStrongEtag(absl::string_view etag);

}  // namespace gandem
