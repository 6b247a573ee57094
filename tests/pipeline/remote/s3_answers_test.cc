// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/s3_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kS3PageText[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
<Name>b</Name><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>
<Contents><Key>a/&amp;&#39;.png</Key><Size>12</Size>
<ETag>&quot;fc12&quot;</ETag><Owner><ID>x</ID></Owner></Contents>
<Contents><Key>a/b%20c.png</Key><ETag>"2"</ETag><Size>0</Size></Contents>
<NextContinuationToken>to/ken==</NextContinuationToken>
</ListBucketResult>)";

TEST(S3AnswersTest, APageIsParsed) {
  ASSERT_OK_AND_ASSIGN(const S3Page page, ParseS3Page(kS3PageText));
  ASSERT_EQ(page.objects.size(), 2);
  EXPECT_EQ(page.objects[0].key, "a/&'.png");
  EXPECT_EQ(page.objects[0].bytes, 12);
  EXPECT_EQ(page.objects[0].etag, "\"fc12\"");
  EXPECT_EQ(page.objects[1].key, "a/b%20c.png");
  EXPECT_EQ(page.continuation, "to/ken==");
}

TEST(S3AnswersTest, EncodedKeysAreDecoded) {
  ASSERT_OK_AND_ASSIGN(
      const S3Page page,
      ParseS3Page("<ListBucketResult><EncodingType>url</EncodingType>"
                  "<IsTruncated>false</IsTruncated>"
                  "<NextContinuationToken>x</NextContinuationToken>"
                  "<Contents><Key>a%2Bb%20c+d</Key><Size>1</Size></Contents>"
                  "</ListBucketResult>"));
  EXPECT_EQ(page.objects.at(0).key, "a+b c d");
  EXPECT_EQ(page.continuation, "");
}

TEST(S3AnswersTest, AnEmptyListIsValid) {
  ASSERT_OK_AND_ASSIGN(
      const S3Page page,
      ParseS3Page("<ListBucketResult ><Name>b</Name></ListBucketResult>"));
  EXPECT_TRUE(page.objects.empty());
}

TEST(S3AnswersTest, MalformedListsAreRejected) {
  const char* const inside[] = {
      "<Contents><Size>1</Size></Contents>",
      "<Contents><Key>a</Key></Contents>",
      "<Contents><Key>a</Key><Size>-1</Size></Contents>",
      "<Contents><Key>a</Key><Size>x</Size></Contents>",
      "<IsTruncated>true</IsTruncated>",
  };
  for (const std::string text : inside) {
    EXPECT_THAT(
        ParseS3Page("<ListBucketResult>" + text + "</ListBucketResult>"),
        StatusIs(absl::StatusCode::kDataLoss))
        << text;
  }
  for (const char* const text :
       {"", "<html>", "<ListBucketResult>", "<ListBucketResults></"}) {
    EXPECT_THAT(ParseS3Page(text), StatusIs(absl::StatusCode::kDataLoss,
                                            HasSubstr("no ListBucketResult")));
  }
}

TEST(S3AnswersTest, ErrorsAreParsed) {
  EXPECT_EQ(S3ErrorCode("<?xml?><Error>\n<Code>NoSuchKey</Code></Error>"),
            "NoSuchKey");
  EXPECT_EQ(S3ErrorCode("<Error><Code>a b</Code></Error>"), "");
  EXPECT_EQ(S3ErrorCode("<Error></Error>"), "");
  EXPECT_EQ(S3ErrorCode("not found"), "");
}

}  // namespace
}  // namespace gandem
