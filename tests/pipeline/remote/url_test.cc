// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(UrlTest, UrlsAreDistinguishedFromPaths) {
  for (const char* const url : {"http://a/b", "HTTPS://a/b", "s3://b/k"}) {
    EXPECT_TRUE(IsUrl(url)) << url;
  }
  for (const char* const path :
       {"", "photos", "/http://a", "file:///etc/passwd", "ftp://a/b", "http:/a",
        "s3:"}) {
    EXPECT_FALSE(IsUrl(path)) << path;
    EXPECT_THAT(ParseUrl(path), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(UrlTest, UrlsAreSplitIntoParts) {
  const Url http = *ParseUrl("http://h:81/a/b.tar?x=1&y=2#part");
  EXPECT_EQ(http.host, "h:81");
  EXPECT_EQ(http.path, "/a/b.tar");
  EXPECT_EQ(http.query, "x=1&y=2");
  EXPECT_EQ(UrlText(http), "http://h:81/a/b.tar?x=1&y=2");
  const Url s3 = *ParseUrl("s3://bucket/a key?#.tar");
  EXPECT_EQ(s3.host, "bucket");
  EXPECT_EQ(s3.path, "/a key?#.tar");
  EXPECT_EQ(UrlText(s3), "s3://bucket/a key?#.tar");
  EXPECT_EQ(ParseUrl("https://h")->path, "/");
  EXPECT_EQ(ParseUrl("http://h?q")->query, "q");
}

TEST(UrlTest, ForbiddenCharactersAreEscaped) {
  EXPECT_EQ(UrlText(*ParseUrl("http://h/a b/\xc3\xa4%20.tar")),
            "http://h/a%20b/%C3%A4%20.tar");
}

TEST(UrlTest, InvalidUrlsAreRefusedWithoutTheirSecrets) {
  EXPECT_THAT(ParseUrl("http://me:secret@h/a"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("~/.netrc"), Not(HasSubstr("secret")))));
  EXPECT_THAT(ParseUrl("http:///a"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("host")));
  EXPECT_THAT(ParseUrl("s3:///key"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("s3://BUCKET/KEY")));
  EXPECT_THAT(
      ParseUrl("s3://a?b/key"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bucket")));
  EXPECT_THAT(ParseUrl("http://h/a\r\nX: y"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("control character")));
}

TEST(UrlTest, MessagesAndKindsOmitTheQuery) {
  EXPECT_EQ(ShownUrl("https://h/a.tar?X-Amz-Signature=12#x"),
            "https://h/a.tar");
  EXPECT_EQ(NamePart("https://h/a.tar?X-Amz-Signature=12"), "https://h/a.tar");
  EXPECT_EQ(NamePart("photos?/a#b"), "photos?/a#b");
  EXPECT_EQ(NamePart("s3://b/a?b.tar"), "s3://b/a?b.tar");
}

TEST(UrlTest, PercentEncodingIsWrittenAndRead) {
  EXPECT_EQ(PercentEncode("a/b c+\xff~", true), "a/b%20c%2B%FF~");
  EXPECT_EQ(PercentEncode("a/b", false), "a%2Fb");
  EXPECT_EQ(PercentDecode("a%2fb%20%zz%4"), "a/b %zz%4");
}

}  // namespace
}  // namespace gandem
