// SPDX-License-Identifier: Apache-2.0
//
// Order of the system calls of KeepCheckpoint. This program defines fsync() and
// rename() in place of the C library's and records the calls.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;

// Records "fsync PATH" and "rename TO" in order.
class DiskNotes {
 public:
  static DiskNotes& Get() {
    static auto* const notes = new DiskNotes;
    return *notes;
  }
  void Add(std::string note) {
    absl::MutexLock lock(&mu_);
    notes_.push_back(std::move(note));
  }
  std::vector<std::string> Take() {
    absl::MutexLock lock(&mu_);
    return std::exchange(notes_, {});
  }

 private:
  absl::Mutex mu_;
  std::vector<std::string> notes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace
}  // namespace gandem

extern "C" int fsync(int fd) {
  char path[PATH_MAX] = {};
  const std::string link = absl::StrCat("/proc/self/fd/", fd);
  if (readlink(link.c_str(), path, sizeof(path) - 1) > 0) {
    gandem::DiskNotes::Get().Add(absl::StrCat("fsync ", path));
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  gandem::DiskNotes::Get().Add(absl::StrCat("rename ", to));
  return static_cast<int>(
      syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace gandem {
namespace {

TEST(KeptCheckpointSyncTest, TheCopyIsOnDiskBeforeTheOriginalMayBeRemoved) {
  const TempDir dir;
  const std::string run = std::filesystem::canonical(dir.path());
  const std::string pending = PendingCheckpointPath(run, 1, 1);
  const std::string text = "state 1";
  ASSERT_OK(CreateDirectories(pending));
  ASSERT_OK(WriteFileDurably(pending + "/generator-0", text));
  CheckpointManifest manifest;
  manifest.set_step(1);
  manifest.set_run_epoch(1);
  CheckpointFile& file = *manifest.add_files();
  file.set_name("generator-0");
  file.set_size(static_cast<int64_t>(text.size()));
  file.set_crc32c(Crc32c(std::as_bytes(std::span(text))));
  ASSERT_OK(CommitCheckpoint(run, manifest));

  const std::string evaluation = run + "/evaluation";
  const std::string folder = evaluation + "/snapshots";
  DiskNotes::Get().Take();
  ASSERT_OK_AND_ASSIGN(const std::string kept,
                       KeepCheckpoint(CheckpointPath(run, 1), folder));
  const std::vector<std::string> made = DiskNotes::Get().Take();
  // First the links, then the folder's name, then the names of its parents.
  EXPECT_THAT(made,
              ElementsAre(AllOf(HasSubstr("fsync " + kept), HasSubstr(".tmp")),
                          "rename " + kept, "fsync " + folder,
                          "fsync " + evaluation, "fsync " + run));

  // Another process may have made the copy a moment ago.
  ASSERT_OK(KeepCheckpoint(CheckpointPath(run, 1), folder));
  EXPECT_THAT(std::vector<std::string>{"fsync " + folder},
              IsSubsetOf(DiskNotes::Get().Take()));
}

}  // namespace
}  // namespace gandem
