// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/aws_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AwsSettingsTest : public ::testing::Test {
 protected:
  AwsSettingsTest() {
    variables_["HOME"] = dir_.path();
    EXPECT_OK(CreateDirectories(dir_ / ".aws"));
  }
  absl::StatusOr<AwsSettings> Read() {
    return ReadAwsSettings([&](const std::string& name) -> std::string {
      const auto found = variables_.find(name);
      return found == variables_.end() ? "" : found->second;
    });
  }

  const gandem::testing::TempDir dir_;
  std::map<std::string, std::string> variables_;
};

TEST_F(AwsSettingsTest, TheDefaultsAreForAPublicBucketOfAmazon) {
  ASSERT_OK_AND_ASSIGN(const AwsSettings settings, Read());
  EXPECT_TRUE(settings.key.empty());
  EXPECT_EQ(settings.region, "us-east-1");
  EXPECT_EQ(settings.endpoint, "");
}

TEST_F(AwsSettingsTest, EnvironmentVariablesTakePrecedence) {
  variables_["AWS_ACCESS_KEY_ID"] = "id:x";
  variables_["AWS_SECRET_ACCESS_KEY"] = "secret";
  variables_["AWS_SESSION_TOKEN"] = "token";
  variables_["AWS_DEFAULT_REGION"] = "eu-west-1";
  variables_["AWS_ENDPOINT_URL"] = "http://h:9000/";
  EXPECT_OK(WriteFile(dir_ / ".aws/credentials",
                      "[default]\naws_access_key_id = other\n"
                      "aws_secret_access_key = other\n"));
  ASSERT_OK_AND_ASSIGN(AwsSettings settings, Read());
  EXPECT_EQ(settings.key.id, "id:x");
  EXPECT_EQ(settings.key.secret, "secret");
  EXPECT_EQ(settings.key.token, "token");
  EXPECT_EQ(settings.region, "eu-west-1");
  EXPECT_EQ(settings.endpoint, "http://h:9000");
  variables_["AWS_REGION"] = "eu-west-2";
  variables_["AWS_ENDPOINT_URL_S3"] = "https://s3.example";
  ASSERT_OK_AND_ASSIGN(settings, Read());
  EXPECT_EQ(settings.region, "eu-west-2");
  EXPECT_EQ(settings.endpoint, "https://s3.example");
}

TEST_F(AwsSettingsTest, ProfilesAreRead) {
  EXPECT_OK(WriteFile(dir_ / ".aws/credentials",
                      "# mine\n[default]\naws_access_key_id = d\n"
                      "aws_secret_access_key = ds\n\n[work]\n"
                      "AWS_ACCESS_KEY_ID=w\n  nested = 1\n"
                      "aws_secret_access_key = w=s\n"));
  EXPECT_OK(WriteFile(dir_ / ".aws/config",
                      "[default]\nregion = r1\n[profile work]\n"
                      "region = r2\nendpoint_url = http://e\n"));
  ASSERT_OK_AND_ASSIGN(AwsSettings settings, Read());
  EXPECT_EQ(settings.key.id, "d");
  EXPECT_EQ(settings.region, "r1");
  variables_["AWS_PROFILE"] = "work";
  ASSERT_OK_AND_ASSIGN(settings, Read());
  EXPECT_EQ(settings.key.id, "w");
  EXPECT_EQ(settings.key.secret, "w=s");
  EXPECT_EQ(settings.region, "r2");
  EXPECT_EQ(settings.endpoint, "http://e");
  variables_["AWS_SHARED_CREDENTIALS_FILE"] = dir_ / "none";
  ASSERT_OK_AND_ASSIGN(settings, Read());
  EXPECT_TRUE(settings.key.empty());
}

TEST_F(AwsSettingsTest, IncompleteSettingsAreRejected) {
  variables_["AWS_PROFILE"] = "typo";
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("'typo'")));
  variables_.erase("AWS_PROFILE");
  variables_["AWS_ENDPOINT_URL_S3"] = "h:9000";
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("AWS_ENDPOINT_URL_S3")));
  variables_.erase("AWS_ENDPOINT_URL_S3");
  variables_["AWS_SECRET_ACCESS_KEY"] = "topsecret";
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("AWS_ACCESS_KEY_ID"),
                                     Not(HasSubstr("topsecret")))));
}

TEST_F(AwsSettingsTest, AddressesAreBuiltFromTheSettings) {
  const Url url = *ParseUrl("s3://bucket/a b+c.tar");
  EXPECT_EQ(S3Address({.region = "r"}, url),
            "https://bucket.s3.r.amazonaws.com/a%20b%2Bc.tar");
  EXPECT_EQ(S3Address({.region = "r"}, *ParseUrl("s3://my.bucket/a")),
            "https://s3.r.amazonaws.com/my.bucket/a");
  EXPECT_EQ(S3Address({.region = "r", .endpoint = "http://h:9"}, url),
            "http://h:9/bucket/a%20b%2Bc.tar");
}

}  // namespace
}  // namespace gandem
