// SPDX-License-Identifier: Apache-2.0
#include "common/files/plain_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(OpenFileTest, NamedPipesAreRefusedForEveryKindOfOpen) {
  const TempDir dir;
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const int flags :
       {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_CREAT | O_APPEND}) {
    EXPECT_THAT(OpenPlainFile(pipe, "cannot open", flags | O_CLOEXEC, 0600),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(pipe), HasSubstr("named pipe"))));
  }
  EXPECT_THAT(CheckIsNoPipe(pipe),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckIsFileOrFolder(pipe),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(pipe), HasSubstr("a named pipe"))));
  EXPECT_OK(CheckIsNoPipe(dir.path()));
  EXPECT_OK(CheckIsNoPipe(dir / "none"));
}

TEST(OpenFileTest, OtherErrorsNameTheAction) {
  const TempDir dir;
  EXPECT_THAT(OpenPlainFile(dir / "none", "cannot open", O_RDONLY),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("cannot open"), HasSubstr("none"))));
}

TEST(OpenFileTest, ADeviceIsNeitherAFileNorAFolder) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "file", ""));
  EXPECT_OK(CheckIsFileOrFolder(dir / "file"));
  EXPECT_OK(CheckIsFileOrFolder(dir.path()));
  EXPECT_THAT(CheckIsFileOrFolder("/dev/null"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'/dev/null' is a device")));
  EXPECT_THAT(CheckIsFileOrFolder(dir / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST(OpenFileTest, DetectsThatItsNameRefersToAnotherFile) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "a", ""));
  ASSERT_OK_AND_ASSIGN(const int fd,
                       OpenPlainFile(dir / "a", "cannot open", O_RDONLY));
  EXPECT_TRUE(IsOpenAs(fd, dir / "a"));
  ASSERT_OK(RenameDurably(dir / "a", dir / "b"));
  EXPECT_FALSE(IsOpenAs(fd, dir / "a"));
  EXPECT_TRUE(IsOpenAs(fd, dir / "b"));
  ASSERT_OK(WriteFile(dir / "a", ""));
  EXPECT_FALSE(IsOpenAs(fd, dir / "a"));
  close(fd);
}

}  // namespace
}  // namespace gandem
