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
using ::testing::IsEmpty;

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

TEST(FolderProofTest, FoldersAreMadeInARunFolderThatIsThere) {
  const TempDir dir;
  const std::string run_dir = dir / "mounted";
  const auto create = [&run_dir](const std::string& name) {
    return CreateInRunFolder(run_dir, name);
  };
  const auto is_away =
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr(run_dir), HasSubstr("mounted?")));
  EXPECT_THAT(create("a/b"), is_away);
  EXPECT_FALSE(PathExists(run_dir));
  // A mount's place, in which somebody has left something.
  ASSERT_OK(CreateDirectories(run_dir + "/a"));
  EXPECT_THAT(create("a/b"), is_away);
  EXPECT_THAT(*ListDirectory(run_dir + "/a"), IsEmpty());

  ASSERT_OK(WriteFolderProof(run_dir));
  EXPECT_OK(create("a/b"));
  EXPECT_OK(create("a/b"));
  EXPECT_OK(create("c"));
  EXPECT_THAT(*ListDirectory(run_dir), ElementsAre("a", "c", "state"));
  EXPECT_THAT(*ListDirectory(run_dir + "/a"), ElementsAre("b"));
  ASSERT_OK(WriteFile(run_dir + "/file", ""));
  for (const char* name : {"file", "file/a"}) {
    EXPECT_THAT(create(name), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("/file")));
  }
}

}  // namespace
}  // namespace gandem
