// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/folder_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/security/credentials.h"
#include "common/security/token.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_certificates.h"

namespace gandem {
namespace {

using ::gandem::testing::IssueCertificate;
using ::gandem::testing::MakeAuthority;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr int64_t kDiskGiB = int64_t{1} << 30;

TEST(FolderChecksTest, AWorkingFolderIsUnchanged) {
  const TempDir dir;
  EXPECT_THAT(FindingLine(CheckRunFolder(dir / "new/run")),
              StartsWith("ok       run folder: "));
  EXPECT_THAT(*ListDirectory(dir / "new/run/state"), IsEmpty());
}

TEST(FolderChecksTest, AFolderThatCannotBeWrittenIsReported) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "file", ""));
  EXPECT_THAT(FindingLine(CheckRunFolder(dir / "file/run")),
              AllOf(StartsWith("FAULT"), HasSubstr(dir / "file"),
                    HasSubstr("rename and fsync")));
  // This file system accepts no new files, even from root.
  EXPECT_THAT(FindingLine(CheckRunFolder("/proc/gandem")), StartsWith("FAULT"));
}

TEST(FolderChecksTest, ADiskTooSmallForTheCheckpointsIsReported) {
  RunConfig config;
  config.set_rounds(1000);
  config.mutable_checkpoint()->set_keep_last(2);
  EXPECT_THAT(FindingLine(CheckDisk(config, kDiskGiB, 3 * kDiskGiB)),
              StartsWith("ok "));
  EXPECT_THAT(FindingLine(CheckDisk(config, kDiskGiB, 3 * kDiskGiB - 1)),
              AllOf(StartsWith("FAULT"), HasSubstr("3 checkpoints take 3.0"),
                    HasSubstr("checkpoint.keep_last")));
  config.mutable_checkpoint()->set_keep_every(100);
  EXPECT_THAT(FindingLine(CheckDisk(config, kDiskGiB, 12 * kDiskGiB)),
              AllOf(StartsWith("FAULT"), HasSubstr("13 checkpoints")));
  EXPECT_THAT(FindingLine(CheckDisk(config, /*checkpoint_bytes=*/0, 1)),
              AllOf(StartsWith("ok "), HasSubstr("the first checkpoint")));
}

TEST(FolderChecksTest, TheNewestCheckpointPredictsTheSizeOfOthers) {
  const TempDir dir;
  EXPECT_EQ(CheckpointBytes(dir.path()), 0);
  CheckpointManifest manifest;
  manifest.set_step(5);
  manifest.set_run_epoch(1);
  const std::string pending = PendingCheckpointPath(dir.path(), 5, 1);
  ASSERT_OK(CreateDirectories(pending));
  for (const char* const name : {"a", "b"}) {
    ASSERT_OK(WriteFile(pending + "/" + name, std::string(1000, 'x')));
    CheckpointFile* const file = manifest.add_files();
    file->set_name(name);
    file->set_size(1000);
  }
  ASSERT_OK(CommitCheckpoint(dir.path(), manifest));
  EXPECT_EQ(CheckpointBytes(dir.path()), 2000);
}

TEST(FolderChecksTest, SecretsThatOthersCanReadAreReported) {
  const TempDir dir;
  const std::string token = TokenPath(dir.path());
  EXPECT_THAT(FindingLine(CheckSecrets(TokenPath(dir.path()), "")),
              AllOf(StartsWith("ok "), HasSubstr("will make")));
  ASSERT_OK(EnsureRunSecrets(dir.path()));
  EXPECT_THAT(FindingLine(CheckSecrets(TokenPath(dir.path()), "")),
              StartsWith("ok "));
  for (const std::string& path : {token, RunCertificatesPath(token)}) {
    ASSERT_EQ(chmod(path.c_str(), 0644), 0);
    EXPECT_THAT(FindingLine(CheckSecrets(TokenPath(dir.path()), "")),
                AllOf(StartsWith("FAULT"), HasSubstr(path)));
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  }
}

TEST(FolderChecksTest, ADamagedTokenIsReported) {
  const TempDir dir;
  const std::string path = TokenPath(dir.path());
  ASSERT_OK(CreateDirectories(ParentOf(path)));
  ASSERT_OK(WriteFile(path, "half"));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_THAT(FindingLine(CheckSecrets(TokenPath(dir.path()), "")),
              StartsWith("FAULT"));
}

TEST(FolderChecksTest, CertificatesOfTheUserAreChecked) {
  const TempDir dir;
  const std::string folder = dir / "certs";
  MakeAuthority(folder);
  IssueCertificate(folder, {"alpha"});
  EXPECT_THAT(FindingLine(CheckSecrets("none", folder + "/alpha")),
              StartsWith("ok "));
  EXPECT_THAT(FindingLine(CheckSecrets("none", dir / "none")),
              AllOf(StartsWith("FAULT"), HasSubstr("docs/security.md")));
}

}  // namespace
}  // namespace gandem
