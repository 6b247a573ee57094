// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/folder_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FolderProofTest, WhoSeesTheFolderCanTellIt) {
  const TempDir run_dir;
  ASSERT_OK_AND_ASSIGN(const FolderProof proof,
                       WriteFolderProof(run_dir.path()));
  EXPECT_FALSE(proof.text.empty());
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFolderProof(run_dir.path(), proof.file));
  EXPECT_EQ(text, proof.text);
}

TEST(FolderProofTest, OneThatWasRemovedIsMadeAgain) {
  const TempDir run_dir;
  ASSERT_OK_AND_ASSIGN(const FolderProof proof,
                       WriteFolderProof(run_dir.path()));
  ASSERT_OK(RemoveAll(run_dir / "state"));
  ASSERT_OK(MendFolderProof(run_dir.path(), proof));
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFolderProof(run_dir.path(), proof.file));
  EXPECT_EQ(text, proof.text);
}

TEST(FolderProofTest, AnotherFolderOrACopyFromBeforeCannot) {
  const TempDir run_dir;
  ASSERT_OK_AND_ASSIGN(const FolderProof first,
                       WriteFolderProof(run_dir.path()));
  const TempDir elsewhere;
  const std::string copy = elsewhere / "copy";
  std::filesystem::copy(run_dir.path(), copy,
                        std::filesystem::copy_options::recursive);
  ASSERT_OK_AND_ASSIGN(const FolderProof second,
                       WriteFolderProof(run_dir.path()));
  EXPECT_NE(first.text, second.text);
  for (const std::string& folder : {copy, elsewhere.path()}) {
    EXPECT_THAT(ReadFolderProof(folder, second.file),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(folder), HasSubstr("--run_dir"))));
  }
  // Nothing piles up.
  EXPECT_THAT(*ListDirectory(run_dir / "state"),
              ElementsAre(second.file.substr(sizeof("state"))));
}

}  // namespace
}  // namespace gandem
