// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/http_headers.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace gandem {
namespace {

HttpHeaders ParseHeaders(std::initializer_list<absl::string_view> lines) {
  HttpHeaders headers;
  for (const absl::string_view line : lines) AddHeaderLine(line, headers);
  return headers;
}

TEST(HttpHeadersTest, WhatMatters) {
  const HttpHeaders headers =
      ParseHeaders({"HTTP/1.1 206 Partial Content\r\n", "content-LENGTH: 5\r\n",
                    "Content-Range: bytes 10-14/100\r\n", "ETag:  \"a:b\" \r\n",
                    "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                    "Content-Type: text/html\r\n", "Retry-After: 7\r\n",
                    "x-amz-bucket-region: eu-west-1\r\n", "\r\n"});
  EXPECT_EQ(headers.content_length, 5);
  ASSERT_TRUE(headers.range.has_value());
  EXPECT_EQ(headers.range->first, 10);
  EXPECT_EQ(headers.range->last, 14);
  EXPECT_EQ(headers.range->total, 100);
  EXPECT_EQ(headers.etag, "\"a:b\"");
  EXPECT_EQ(headers.last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(headers.content_type, "text/html");
  EXPECT_EQ(headers.retry_after, absl::Seconds(7));
  EXPECT_EQ(headers.region, "eu-west-1");
}

TEST(HttpHeadersTest, AStatusLineBeginsAnew) {
  const HttpHeaders headers =
      ParseHeaders({"HTTP/1.1 100 Continue\r\n", "ETag: \"old\"\r\n",
                    "HTTP/1.1 200 OK\r\n", "Content-Length: 1\r\n"});
  EXPECT_EQ(headers.etag, "");
  EXPECT_EQ(headers.content_length, 1);
}

TEST(HttpHeadersTest, NonsenseSaysNothing) {
  for (const char* const range :
       {"bytes 5-4/10", "bytes 0-10/10", "bytes */10", "bytes 0-4/*", "0-4/10",
        "bytes -1-4/10", "bytes 0-4", "bytes 0-99999999999999999999/10", ""}) {
    EXPECT_FALSE(ParseHeaders({absl::StrCat("Content-Range: ", range)}).range)
        << range;
  }
  EXPECT_FALSE(ParseHeaders({"Content-Length: +5"}).content_length);
  EXPECT_FALSE(ParseHeaders({"Retry-After: soon"}).retry_after);
  EXPECT_EQ(ParseHeaders({"no colon", ":"}).etag, "");
  EXPECT_EQ(ParseHeaders({absl::StrCat("ETag: ", std::string(2000, 'x'))}).etag,
            "");
}

TEST(HttpHeadersTest, RetryAfterIsBounded) {
  EXPECT_EQ(ParseHeaders({"Retry-After: 99999999"}).retry_after,
            absl::Hours(1));
  EXPECT_EQ(
      ParseHeaders({"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"}).retry_after,
      absl::ZeroDuration());
  const std::string later =
      absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT",
                       absl::Now() + absl::Minutes(5), absl::UTCTimeZone());
  const auto wait =
      ParseHeaders({absl::StrCat("Retry-After: ", later)}).retry_after;
  ASSERT_TRUE(wait.has_value());
  EXPECT_GT(*wait, absl::Minutes(3));
  EXPECT_LE(*wait, absl::Minutes(5));
}

TEST(HttpHeadersTest, Etags) {
  EXPECT_TRUE(IsStrongEtag("\"a\""));
  EXPECT_FALSE(IsStrongEtag("W/\"a\""));
  EXPECT_FALSE(IsStrongEtag(""));
  EXPECT_FALSE(IsStrongEtag("\""));
}

}  // namespace
}  // namespace gandem
