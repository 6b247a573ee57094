// SPDX-License-Identifier: Apache-2.0
//
// Tests of writing a checkpoint to a full disk.
#include "worker/checkpoint_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/process/thread.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kRounds = 40;
constexpr char kShard[] = "generator-0.safetensors";

class CheckpointWriterTest : public ::testing::Test {
 protected:
  CheckpointWriterTest() {
    options_.run_dir = dir_.path();
    EXPECT_OK(CreateDirectories(dir_ / "state"));  // of a run folder
    options_.run_epoch = 1;
    options_.patience = absl::Hours(1);
    options_.retry_interval = absl::Milliseconds(1);
  }

  void Start() {
    writer_ = std::make_unique<CheckpointWriter>(
        options_, [this](ShardReport report) {
          const absl::MutexLock lock(&mu_);
          reports_.push_back(std::move(report));
        });
  }
  // Makes all writes to the file fail as on a full disk.
  void FillDisk(const std::string& name) { Divert(name, "/dev/full"); }
  void Divert(const std::string& name, const char* target) {
    const std::string folder =
        PendingCheckpointPath(dir_.path(), kRounds, options_.run_epoch);
    ASSERT_OK(CreateDirectories(folder));
    full_ = folder + "/" + name;
    ASSERT_EQ(symlink(target, full_.c_str()), 0);
  }
  void FreeSpace() { EXPECT_EQ(unlink(full_.c_str()), 0); }
  // Saves the checkpoint after kRounds and waits until it is settled.
  ShardReport Save(const std::string& file = kShard,
                   TensorChecksums checksums = {}) {
    std::vector<NamedTensor> tensors = {
        {.name = "weight",
         .dtype = DType::kU8,
         .shape = {3},
         .bytes = SharedBytes(std::vector<std::byte>(3))}};
    EXPECT_OK(writer_->AwaitRoom(file));
    EXPECT_OK(writer_->Save(kRounds, file,
                            std::make_shared<TensorSnapshot>(
                                std::move(tensors), std::vector<bool>{false}),
                            std::move(checksums)));
    EXPECT_OK(writer_->Flush(Soon()));
    const absl::MutexLock lock(&mu_);
    EXPECT_THAT(reports_, SizeIs(1));
    return reports_.empty() ? ShardReport() : reports_.front();
  }

  TempDir dir_;
  std::string full_;
  CheckpointWriter::Options options_;
  absl::Mutex mu_;
  std::vector<ShardReport> reports_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<CheckpointWriter> writer_;  // destroyed first
};

TEST_F(CheckpointWriterTest, ACheckpointThatOthersFollowIsAbandoned) {
  options_.is_last = [](int64_t rounds) {
    EXPECT_EQ(rounds, kRounds);
    return false;
  };
  Start();
  FillDisk(kShard);
  const ShardReport report = Save();
  EXPECT_EQ(report.step(), kRounds);
  EXPECT_THAT(report.error(), HasSubstr("free some space"));
  EXPECT_THAT(report.files(), IsEmpty());
}

TEST_F(CheckpointWriterTest, TheLastCheckpointIsWrittenOnceThereIsSpace) {
  int failures = 0;
  options_.is_last = [&](int64_t) {
    if (++failures == 3) FreeSpace();
    return true;
  };
  Start();
  FillDisk(kShard);
  const ShardReport report = Save();
  EXPECT_EQ(report.error(), "");
  EXPECT_EQ(failures, 3);
  ASSERT_THAT(report.files(), SizeIs(1));
  EXPECT_EQ(report.files(0).name(), kShard);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(full_));
  EXPECT_EQ(report.files(0).size(), static_cast<int64_t>(bytes.size()));
}

TEST_F(CheckpointWriterTest, TheLastCheckpointIsWrittenOnceTheDiskIsWritable) {
  int failures = 0;
  options_.is_last = [&](int64_t) {
    if (++failures == 3) FreeSpace();
    return true;
  };
  Start();
  Divert(kShard, "/sys/gandem-none");  // nobody may create files here
  EXPECT_EQ(Save().error(), "");
  EXPECT_EQ(failures, 3);
}

// The shard exists at that time, but the next file does not.
TEST_F(CheckpointWriterTest, AFileThatIsWrittenAgainIsReportedOnce) {
  options_.config_text = "rounds: 40\n";
  options_.is_last = [](int64_t) { return true; };
  Start();
  // The first failure removes the file, which frees the space.
  FillDisk("config.textproto.tmp");
  const ShardReport report = Save();
  EXPECT_EQ(report.error(), "");
  ASSERT_THAT(report.files(), SizeIs(2));
  EXPECT_EQ(report.files(0).name(), kShard);
  EXPECT_EQ(report.files(1).name(), "config.textproto");
}

TEST_F(CheckpointWriterTest, ChecksumsOfTheStateAreReportedAndKept) {
  Start();
  const TensorChecksums checksums = {
      {"bias", "0123abcd"},  // in another worker's share
      {"weight", ChecksumText(Crc32c(std::vector<std::byte>(3)))}};
  const ShardReport report = Save(kShard, checksums);
  ASSERT_THAT(report.files(), SizeIs(1));
  EXPECT_EQ(report.files(0).state_crc32c(), StateChecksum(checksums));
  const std::string folder =
      PendingCheckpointPath(dir_.path(), kRounds, options_.run_epoch);
  ASSERT_OK_AND_ASSIGN(const TensorChecksums kept,
                       ReadSafetensorsMetadata(folder + "/" + kShard));
  EXPECT_EQ(kept, checksums);
}

// A role reuses the memory of its last state for the next one.
TEST_F(CheckpointWriterTest, MemoryOfAFileBeingWrittenIsNotReused) {
  absl::Notification writes;
  absl::Notification may_go_on;
  options_.files_per_checkpoint = 2;
  options_.is_last = [&](int64_t) {
    writes.Notify();
    may_go_on.WaitForNotification();
    return false;
  };
  Start();
  FillDisk(kShard);
  const auto share = std::make_shared<TensorSnapshot>(
      std::vector<NamedTensor>(), std::vector<bool>());
  ASSERT_OK(writer_->AwaitRoom(kShard));
  ASSERT_OK(writer_->Save(kRounds, kShard, share, {}));
  writes.WaitForNotification();
  EXPECT_OK(writer_->AwaitRoom("discriminator-0.safetensors"));
  size_t reports = 0;
  {
    const Thread role("role", [&] {
      EXPECT_OK(writer_->AwaitRoom(kShard));
      const absl::MutexLock lock(&mu_);
      reports = reports_.size();
    });
    may_go_on.Notify();
  }
  EXPECT_EQ(reports, 1u);
}

TEST_F(CheckpointWriterTest, BytesThatDoNotMatchTheirChecksumAreNotSaved) {
  Start();
  EXPECT_THAT(Save(kShard, {{"weight", "00000001"}}).error(),
              HasSubstr("'weight' has changed while it was saved"));
}

TEST_F(CheckpointWriterTest, TheOnlyWorkerComparesWithNobody) {
  Start();
  const ShardReport report = Save();
  ASSERT_THAT(report.files(), SizeIs(1));
  EXPECT_FALSE(report.files(0).has_state_crc32c());
}

TEST_F(CheckpointWriterTest, RetriesEndAfterTheGrace) {
  options_.is_last = [](int64_t) { return true; };
  options_.patience = absl::Milliseconds(5);
  Start();
  FillDisk(kShard);
  EXPECT_THAT(Save().error(), HasSubstr("free some space"));
}

TEST_F(CheckpointWriterTest, AMissingRunFolderIsNotCreated) {
  options_.run_dir = dir_ / "mounted";
  Start();
  EXPECT_THAT(Save().error(), HasSubstr("mounted?"));
  EXPECT_FALSE(PathExists(options_.run_dir));
}

TEST_F(CheckpointWriterTest, TheLastCheckpointIsWrittenOnceTheMountIsBack) {
  options_.run_dir = dir_ / "mounted";
  int failures = 0;
  options_.is_last = [&](int64_t) {
    if (++failures == 3) {
      EXPECT_OK(CreateDirectories(options_.run_dir + "/state"));
    }
    return true;
  };
  Start();
  EXPECT_EQ(Save().error(), "");
  EXPECT_EQ(failures, 3);
}

TEST_F(CheckpointWriterTest, OtherFailuresAreNotRetried) {
  options_.is_last = [](int64_t) {
    ADD_FAILURE() << "that does not pass";
    return true;
  };
  Start();
  EXPECT_THAT(Save("no-such-folder/file").error(), HasSubstr("NOT_FOUND"));
}

TEST_F(CheckpointWriterTest, AClosedWriterDoesNotWaitForSpace) {
  options_.retry_interval = absl::Hours(1);
  absl::Notification closed;
  options_.is_last = [&](int64_t) {
    writer_->Close(absl::CancelledError("the run is over"));
    closed.Notify();
    return true;
  };
  Start();
  FillDisk(kShard);
  ASSERT_OK(writer_->Save(kRounds, kShard,
                          std::make_shared<TensorSnapshot>(
                              std::vector<NamedTensor>(), std::vector<bool>()),
                          {}));
  ASSERT_TRUE(closed.WaitForNotificationWithTimeout(absl::Minutes(1)));
  writer_.reset();  // joins the thread
  const absl::MutexLock lock(&mu_);
  ASSERT_THAT(reports_, SizeIs(1));
  EXPECT_NE(reports_[0].error(), "");
}

}  // namespace
}  // namespace gandem
