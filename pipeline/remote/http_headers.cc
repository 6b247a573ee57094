// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/http_headers.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"

namespace gandem {
namespace {

constexpr size_t kMaxHeaderValue = 1024;
constexpr int64_t kLongestRetryAfter = 3600;  // seconds; beyond it is the same

// Digits only: no sign, no blanks.
std::optional<int64_t> ParseCount(absl::string_view text) {
  int64_t count = 0;
  if (text.empty() || !std::ranges::all_of(text, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &count)) {
    return std::nullopt;
  }
  return count;
}

std::optional<ContentRange> ParseContentRange(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "bytes ")) return std::nullopt;
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == absl::string_view::npos || slash == absl::string_view::npos ||
      dash > slash) {
    return std::nullopt;
  }
  const auto first = ParseCount(text.substr(0, dash));
  const auto last = ParseCount(text.substr(dash + 1, slash - dash - 1));
  const auto total = ParseCount(text.substr(slash + 1));
  if (!first || !last || !total || *first > *last || *last >= *total) {
    return std::nullopt;
  }
  return ContentRange{.first = *first, .last = *last, .total = *total};
}

// Seconds, or a date (RFC 9110 section 5.6.7), counted from this machine's time
// of day: a server's own clock is not known before its answer has ended.
std::optional<absl::Duration> ParseRetryAfter(absl::string_view text) {
  const auto bounded = [](absl::Duration wait) {
    return std::clamp(wait, absl::ZeroDuration(),
                      absl::Seconds(kLongestRetryAfter));
  };
  if (const auto seconds = ParseCount(text)) {
    return bounded(absl::Seconds(std::min(*seconds, kLongestRetryAfter)));
  }
  absl::Time when;
  if (!absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", text, &when, nullptr)) {
    return std::nullopt;
  }
  return bounded(when - absl::Now());
}

}  // namespace

void AddHeaderLine(absl::string_view line, HttpHeaders& headers) {
  if (absl::StartsWithIgnoreCase(line, "HTTP/")) {
    headers = HttpHeaders();
    return;
  }
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return;
  const absl::string_view name = line.substr(0, colon);
  const absl::string_view value =
      absl::StripAsciiWhitespace(line.substr(colon + 1));
  if (value.size() > kMaxHeaderValue) return;
  const auto is = [&](absl::string_view wanted) {
    return absl::EqualsIgnoreCase(name, wanted);
  };
  if (is("content-length")) {
    headers.content_length = ParseCount(value);
  } else if (is("content-range")) {
    headers.range = ParseContentRange(value);
  } else if (is("etag")) {
    headers.etag = std::string(value);
  } else if (is("last-modified")) {
    headers.last_modified = std::string(value);
  } else if (is("content-type")) {
    headers.content_type = std::string(value);
  } else if (is("retry-after")) {
    headers.retry_after = ParseRetryAfter(value);
  } else if (is("x-amz-bucket-region")) {
    headers.region = std::string(value);
  }
}

bool IsStrongEtag(absl::string_view etag) {
  return etag.size() >= 2 && etag.front() == '"' && etag.back() == '"';
}

}  // namespace gandem
