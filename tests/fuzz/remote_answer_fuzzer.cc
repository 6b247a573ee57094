// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the parsers of answers from file servers: ranges, S3's lists and
// errors, and URLs in redirects. Byte 0 selects the HTTP status.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "pipeline/remote/answer_verdict.h"
#include "pipeline/remote/http_client.h"
#include "pipeline/remote/s3_answers.h"
#include "pipeline/remote/url.h"
#include "tests/fuzz/input_file.h"

namespace gandem {
namespace {

HttpHeaders TryHeaders(absl::string_view text) {
  const HttpHeaders headers = {.range = ParseContentRange(text),
                               .etag = std::string(text)};
  if (headers.range) {
    GANDEM_CHECK(headers.range->first >= 0 &&
                 headers.range->first <= headers.range->last &&
                 headers.range->last < headers.range->total);
  }
  return headers;
}

void TryList(absl::string_view text) {
  const auto page = ParseS3Page(text);
  if (!page.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(page.status()));
    return;
  }
  size_t bytes = page->continuation.size();
  for (const S3Object& object : page->objects) {
    GANDEM_CHECK(!object.key.empty() && object.bytes >= 0);
    bytes += object.key.size() + object.etag.size();
  }
  // Elements may be nested, such as the ETag of a key.
  GANDEM_CHECK(bytes <= 3 * text.size());
}

void TryUrl(absl::string_view text) {
  const auto url = ParseUrl(text);
  if (!url.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(url.status()));
    return;
  }
  const std::string requested = UrlText(*url);
  const auto again = ParseUrl(requested);
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(UrlText(*again) == requested);
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  if (size == 0) return 0;
  const absl::string_view text = TextOf(data + 1, size - 1);
  TryList(text);
  TryUrl(text);
  const HttpAnswer answer = {.status = 200 + data[0] * 2,
                             .headers = TryHeaders(text),
                             .body = PagedString(text)};
  const Verdict verdict = JudgeAnswer(Url{.host = "h", .path = "/f"}, answer);
  GANDEM_CHECK(verdict.status.ok() ==
               (answer.status == 200 || answer.status == 206));
  IsWebPage(text);
  CheckRedirect("http://h/f", text).IgnoreError();
  return 0;
}
