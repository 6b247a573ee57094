// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/http_client.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/testing/http_server.h"

namespace gandem {
namespace {

using ::gandem::testing::HttpAnswerText;
using ::gandem::testing::HttpCall;
using ::gandem::testing::HttpServer;

// Returns the headers that a client parses from these lines.
HttpHeaders HeadersOf(const std::string& lines) {
  HttpServer server(
      [&](const HttpCall&) { return HttpAnswerText(200, lines, ""); });
  HttpClient client{HttpLimits()};
  return client
      .Get({.url = server.Url("/f")}, /*max_body=*/10,
           absl::Now() + absl::Minutes(1), /*earlier_tries=*/0)
      .headers;
}

TEST(HttpClientTest, RelevantHeadersAreParsed) {
  const HttpHeaders headers = HeadersOf(
      "Content-Range: bytes 10-14/100\r\nETag:  \"a:b\" \r\n"
      "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
      "Retry-After: 7\r\nx-amz-bucket-region: eu-west-1\r\n");
  ASSERT_TRUE(headers.range.has_value());
  EXPECT_EQ(headers.range->first, 10);
  EXPECT_EQ(headers.range->last, 14);
  EXPECT_EQ(headers.range->total, 100);
  EXPECT_EQ(headers.etag, "\"a:b\"");
  EXPECT_EQ(headers.last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(headers.retry_after, absl::Seconds(7));
  EXPECT_EQ(headers.region, "eu-west-1");
}

TEST(HttpClientTest, InvalidHeadersAreIgnored) {
  const HttpHeaders headers =
      HeadersOf(absl::StrCat("ETag: ", std::string(2000, 'x'), "\r\n"));
  EXPECT_EQ(headers.etag, "");
  EXPECT_FALSE(headers.range.has_value());
  EXPECT_FALSE(headers.retry_after.has_value());
}

TEST(HttpClientTest, RetryAfterIsBounded) {
  EXPECT_EQ(HeadersOf("Retry-After: 99999999\r\n").retry_after, absl::Hours(1));
  EXPECT_EQ(
      HeadersOf("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n").retry_after,
      absl::ZeroDuration());
}

TEST(HttpClientTest, InvalidRangesAreRefused) {
  for (const char* const range :
       {"bytes 5-4/10", "bytes 0-10/10", "bytes */10", "bytes 0-4/*", "0-4/10",
        "bytes -1-4/10", "bytes 0-4", "bytes 0-99999999999999999999/10", ""}) {
    EXPECT_FALSE(ParseContentRange(range).has_value()) << range;
  }
}

}  // namespace
}  // namespace gandem
