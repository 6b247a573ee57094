// SPDX-License-Identifier: Apache-2.0
//
// Tests readers that pause, with pipes and with a terminal.
#include "control_plane/views/console.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/eventually.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::Eventually;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kLog[] = "run/logs/gandem.log";

// Console without a terminal: a pipe that only Read() reads.
class ConsoleTest : public ::testing::Test {
 protected:
  void SetUp() override { UsePipe(); }
  ~ConsoleTest() override { Close(); }
  void Close() {
    for (const int fd : ends_) {
      if (fd >= 0) close(fd);
    }
  }
  void UsePipe() {
    Close();
    ASSERT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    DoNotWait(ends_[0]);
  }
  static void DoNotWait(int fd) {
    ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
  }
  // Writes until the reader's buffer is full.
  void Fill() {
    const int flags = fcntl(ends_[1], F_GETFL);
    DoNotWait(ends_[1]);
    const std::string bytes(4096, '.');
    while (write(ends_[1], bytes.data(), bytes.size()) > 0) {
    }
    while (write(ends_[1], ".", 1) > 0) {
    }
    ASSERT_EQ(fcntl(ends_[1], F_SETFL, flags), 0);
  }
  // Returns all output except the text of Fill().
  std::string Read() {
    std::string text;
    std::array<char, 4096> bytes;
    ssize_t size = 0;
    while ((size = read(ends_[0], bytes.data(), bytes.size())) > 0) {
      text.append(bytes.data(), static_cast<size_t>(size));
    }
    return text.substr(std::min(text.find_first_not_of('.'), text.size()));
  }
  std::string ReadUntil(Console& console, const std::string& end) {
    std::string text;
    EXPECT_TRUE(Eventually([&] {
      text += Read();
      console.Flush();
      return absl::EndsWith(text, end);
    })) << text;
    return text;
  }
  static ProgressView At(int64_t round) {
    ProgressView view;
    view.status.set_state(StatusReply::RUNNING);
    view.status.set_rounds(1000);
    view.status.set_completed_rounds(round);
    return view;
  }

  std::array<int, 2> ends_ = {-1, -1};
};

TEST_F(ConsoleTest, LinesAndProgressArePrinted) {
  Console console(ends_[1], /*is_terminal=*/false, kLog);
  console.PrintLine("first");
  const absl::Time now = absl::UnixEpoch();
  console.ShowProgress(At(10), now);
  console.ShowProgress(At(20), now + absl::Seconds(1));
  console.ShowProgress(At(30), now + absl::Seconds(6));
  console.PrintLine("last");
  const std::string text = Read();
  EXPECT_THAT(text, AllOf(StartsWith("first\nround 10/1000"),
                          HasSubstr("\nround 30/1000"), EndsWith("\nlast\n"),
                          Not(HasSubstr("round 20/"))));
}

TEST_F(ConsoleTest, WithoutATerminalProgressLinesAreRare) {
  Console console(ends_[1], /*is_terminal=*/false, kLog);
  for (int tenth = 0; tenth < 100; ++tenth) {  // ten seconds
    console.ShowProgress(At(10),
                         absl::UnixEpoch() + tenth * absl::Milliseconds(100));
  }
  console.PrintLine("done");
  const std::string text = Read();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_THAT(text, AllOf(StartsWith("round 10/1000"), Not(HasSubstr("\r"))));
}

TEST_F(ConsoleTest, OnATerminalLinesArePrintedAboveTheBar) {
  {
    Console console(ends_[1], /*is_terminal=*/true, kLog);
    console.ShowProgress(At(10), absl::UnixEpoch());
    console.PrintLine("a line");
    console.ShowProgress(At(10), absl::UnixEpoch() + absl::Milliseconds(10));
    console.ShowProgress(At(10), absl::UnixEpoch() + absl::Milliseconds(20),
                         /*at_once=*/true);
  }
  const std::string bar = absl::StrCat("\r", ProgressBar(At(10), 79), "\x1b[K");
  EXPECT_EQ(Read(), absl::StrCat(bar, "\r\x1b[Ka line\n", bar, "\r\x1b[K"));
}

TEST_F(ConsoleTest, ContinuesWithoutAReaderAndReportsDroppedLines) {
  Console console(ends_[1], /*is_terminal=*/false, kLog);
  Fill();
  // The first line is already being written.
  const size_t last = Console::kMaxPending + 100;
  for (size_t i = 0; i <= last; ++i)
    console.PrintLine(absl::StrCat("line ", i));
  const std::string text =
      ReadUntil(console, absl::StrCat("line ", last, "\n"));
  EXPECT_THAT(text,
              StartsWith(absl::StrCat(
                  "line 0\n... 100 lines are left out here, because nobody "
                  "read them; ",
                  kLog, " has them\nline 101\nline 102\n")));
  console.PrintLine("more");
  EXPECT_EQ(Read(), "more\n");
}

TEST_F(ConsoleTest, OnlyTheNewestProgressIsKept) {
  Console console(ends_[1], /*is_terminal=*/false, kLog);
  Fill();
  console.PrintLine("before");
  for (int64_t round = 100; round < 200; ++round) {
    console.ShowProgress(At(round), absl::UnixEpoch(), /*at_once=*/true);
  }
  console.PrintLine("behind");
  const std::string text = ReadUntil(console, "behind\n");
  EXPECT_THAT(text,
              AllOf(StartsWith("before\nround 199/1000"),
                    Not(HasSubstr("round 198/")), Not(HasSubstr("left out"))));
}

TEST_F(ConsoleTest, SharedDescriptorsAreNotChanged) {
  const Console console(ends_[1], /*is_terminal=*/false, kLog);
  EXPECT_EQ(fcntl(ends_[1], F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(ConsoleTest, ContinuesOnASocketWithoutAReader) {
  Close();
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()),
            0);
  DoNotWait(ends_[0]);
  Console console(ends_[1], /*is_terminal=*/false, kLog);
  Fill();
  console.PrintLine("first");
  console.PrintLine("last");
  EXPECT_EQ(ReadUntil(console, "last\n"), "first\nlast\n");
}

TEST_F(ConsoleTest, OutputIsAppendedToAFile) {
  const TempDir folder;
  ASSERT_OK(WriteFile(folder / "out", "before\n"));
  const int fd = open((folder / "out").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(lseek(fd, 0, SEEK_END), 7);
  {
    Console console(fd, /*is_terminal=*/false, kLog);
    console.PrintLine("behind");
  }
  close(fd);
  EXPECT_EQ(ReadFile(folder / "out").value_or(""), "before\nbehind\n");
}

TEST_F(ConsoleTest, ClosedReadersAreNoError) {
  ASSERT_NE(signal(SIGPIPE, SIG_IGN), SIG_ERR);
  Console console(ends_[1], /*is_terminal=*/false, kLog);
  close(std::exchange(ends_[0], -1));
  console.PrintLine("lost");
  console.PrintLine("lost, too");
}

// Pseudoterminal: text written into the second end is read from the first.
class TerminalConsoleTest : public ConsoleTest {
 protected:
  void SetUp() override {
    ends_[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(ends_[0], 0);
    ASSERT_EQ(grantpt(ends_[0]), 0);
    ASSERT_EQ(unlockpt(ends_[0]), 0);
    ends_[1] = open(ptsname(ends_[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(ends_[1], 0);
    termios mode = {};
    ASSERT_EQ(tcgetattr(ends_[1], &mode), 0);
    cfmakeraw(&mode);
    ASSERT_EQ(tcsetattr(ends_[1], TCSANOW, &mode), 0);
    DoNotWait(ends_[0]);
  }
  void SetColumns(unsigned short columns) {
    winsize size = {};
    size.ws_row = 24;
    size.ws_col = columns;
    ASSERT_EQ(ioctl(ends_[0], TIOCSWINSZ, &size), 0);
  }
};

TEST_F(TerminalConsoleTest, ProgressIsOverwritten) {
  SetColumns(60);
  Console console(ends_[1], /*is_terminal=*/true, kLog);
  console.ShowProgress(At(10), absl::UnixEpoch());
  EXPECT_THAT(ReadUntil(console, "\x1b[K"), StartsWith("\r["));
  console.PrintLine("stays");
  EXPECT_EQ(ReadUntil(console, "\n"), "\r\x1b[Kstays\n");
}

TEST_F(TerminalConsoleTest, ProgressFollowsTheWindowSize) {
  Console console(ends_[1], /*is_terminal=*/true, kLog);
  const std::string around = "\r\x1b[K";
  for (const unsigned short columns : {100, 40, 120}) {
    SetColumns(columns);
    console.ShowProgress(At(10), absl::UnixEpoch(), /*at_once=*/true);
    const std::string text = ReadUntil(console, "\x1b[K");
    EXPECT_LE(text.size(), columns - 1 + around.size());
    EXPECT_GE(text.size(), 30);
    EXPECT_THAT(text, HasSubstr("10/1000 1%"));
  }
}

TEST_F(TerminalConsoleTest, ContinuesAfterCtrlS) {
  Console console(ends_[1], /*is_terminal=*/true, kLog);
  ASSERT_EQ(tcflow(ends_[1], TCOOFF), 0);
  for (int i = 0; i < 100; ++i) {
    console.PrintLine(absl::StrCat("line ", i));
    console.ShowProgress(At(i), absl::UnixEpoch(), /*at_once=*/true);
  }
  EXPECT_EQ(Read(), "");
  ASSERT_EQ(tcflow(ends_[1], TCOON), 0);
  const std::string text = ReadUntil(console, "\x1b[K");
  EXPECT_THAT(text,
              AllOf(StartsWith("line 0\nline 1\n"),
                    HasSubstr("line 98\nline 99\n\r"), HasSubstr("99/1000")));
}

}  // namespace
}  // namespace gandem
