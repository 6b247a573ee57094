// SPDX-License-Identifier: Apache-2.0
#include "common/files/sha256.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

std::string HashOf(absl::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return hash.Finish();
}

// The examples of FIPS 180-4's "SHA-256 example" pages, and the empty text.
constexpr char kOfNothing[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kOfAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kOfMillion[] =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256Test, KnownDigestsAreComputed) {
  EXPECT_EQ(HashOf(""), kOfNothing);
  EXPECT_EQ(HashOf("abc"), kOfAbc);
  EXPECT_EQ(HashOf(std::string(1'000'000, 'a')), kOfMillion);
}

TEST(Sha256Test, PiecesHashLikeTheWholeText) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("");
  hash.Update("bc");
  EXPECT_EQ(hash.Finish(), kOfAbc);
}

TEST(Sha256Test, HashesFiles) {
  gandem::testing::TempDir dir;
  const std::string contents(3 * (size_t{1} << 20) + 7, 'x');
  ASSERT_OK(WriteFile(dir / "long", contents));
  ASSERT_OK(WriteFile(dir / "empty", ""));
  ASSERT_OK_AND_ASSIGN(const std::string of_long, Sha256OfFile(dir / "long"));
  EXPECT_EQ(of_long, HashOf(contents));
  ASSERT_OK_AND_ASSIGN(const std::string of_empty, Sha256OfFile(dir / "empty"));
  EXPECT_EQ(of_empty, kOfNothing);
  EXPECT_THAT(Sha256OfFile(dir / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace
}  // namespace gandem
