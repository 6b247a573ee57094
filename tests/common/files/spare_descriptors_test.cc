// SPDX-License-Identifier: Apache-2.0
#include "common/files/spare_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;

// All descriptors of the process, taken until its end.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = 200;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    int fd = -1;
    while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
      taken_.push_back(fd);
    }
    EXPECT_EQ(errno, EMFILE);
  }
  ~NoDescriptors() {
    for (const int fd : taken_) close(fd);
    setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_ = {};
  std::vector<int> taken_;
};

// As a checkpoint does.
absl::Status UseFiles(const TempDir& dir) {
  for (int i = 0; i < 50; ++i) {
    const std::string text = absl::StrCat("checkpoint ", i);
    GANDEM_RETURN_IF_ERROR(WriteFileDurably(dir / "file", text));
    GANDEM_ASSIGN_OR_RETURN(const std::string read, ReadFile(dir / "file"));
    if (read != text) return absl::DataLossError(read);
    GANDEM_RETURN_IF_ERROR(ListDirectory(dir.path()));
    GANDEM_RETURN_IF_ERROR(CreateDirectories(dir / "a/b"));
    GANDEM_RETURN_IF_ERROR(RemoveAll(dir / "a"));
  }
  return absl::OkStatus();
}

TEST(SpareDescriptorsTest, FilesAreWrittenWhenThereAreNoDescriptors) {
  KeepSpareDescriptors();
  const TempDir dir;
  absl::Status used;
  {
    const NoDescriptors none;
    used = UseFiles(dir);
  }
  EXPECT_OK(used);
  EXPECT_OK(WriteFile(dir / "file", "after"));
}

TEST(SpareDescriptorsTest, ThereAreOnlySoMany) {
  KeepSpareDescriptors();
  KeepSpareDescriptors();  // once more changes nothing
  const NoDescriptors none;
  std::vector<int> opened;
  int fd = -1;
  while ((fd = OpenFile("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
    opened.push_back(fd);
  }
  EXPECT_EQ(errno, EMFILE);
  EXPECT_EQ(opened.size(), kSpareDescriptors);
  for (const int each : opened) close(each);
}

}  // namespace
}  // namespace gandem
