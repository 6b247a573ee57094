// SPDX-License-Identifier: Apache-2.0
#include "collective/shared_slots.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSlotBytes = 5000;
constexpr int kSlots = 3;

class SharedSlotsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(writer_,
                         SharedSlotsWriter::Create(kSlotBytes, kSlots));
    ASSERT_OK_AND_ASSIGN(reader_, SharedSlotsReader::Open(writer_->name()));
  }

  SharedBytes Write(size_t bytes, char value) {
    const std::optional<PayloadRoom> room = writer_->Take(bytes);
    if (!room.has_value()) return {};
    EXPECT_EQ(room->bytes.size(), bytes);
    std::ranges::fill(room->bytes, std::byte(value));
    return room->Written();
  }

  std::unique_ptr<SharedSlotsWriter> writer_;
  std::unique_ptr<SharedSlotsReader> reader_;
};

TEST_F(SharedSlotsTest, WrittenBytesAreRead) {
  std::vector<int> slots;
  for (int i = 0; i < kSlots; ++i) {
    const SharedBytes written = Write(kSlotBytes - i, static_cast<char>(i));
    const std::optional<int> slot = writer_->SlotOf(written);
    ASSERT_TRUE(slot.has_value());
    slots.push_back(*slot);
  }
  for (int i = 0; i < kSlots; ++i) {
    ASSERT_OK_AND_ASSIGN(const SharedBytes read,
                         reader_->Read(slots[i], kSlotBytes - i));
    ASSERT_EQ(read.size(), kSlotBytes - i);
    EXPECT_EQ(std::ranges::count(read.span(), std::byte(i)), kSlotBytes - i);
  }
}

TEST_F(SharedSlotsTest, ASlotIsFreeWhenTheLastCopyOfItsBytesIsDestroyed) {
  std::vector<SharedBytes> written;
  for (int i = 0; i < kSlots; ++i) written.push_back(Write(10, 'a'));
  EXPECT_FALSE(writer_->Take(10).has_value());
  const int middle = *writer_->SlotOf(written[1]);
  {
    ASSERT_OK_AND_ASSIGN(SharedBytes read, reader_->Read(middle, 10));
    const SharedBytes copy = read.Slice(2, 5);
    read = SharedBytes();
    EXPECT_FALSE(writer_->Take(10).has_value());
    EXPECT_EQ(copy.span()[0], std::byte('a'));
  }
  const SharedBytes again = Write(10, 'b');
  EXPECT_EQ(writer_->SlotOf(again), middle);
}

TEST_F(SharedSlotsTest, BytesThatDoNotFitAreNotWritten) {
  EXPECT_FALSE(writer_->Take(kSlotBytes + 1).has_value());
  EXPECT_TRUE(writer_->Take(kSlotBytes).has_value());
  EXPECT_FALSE(writer_->SlotOf(HeapRoom(10).Written()).has_value());
}

TEST_F(SharedSlotsTest, ASlotIsReadOncePerFill) {
  const int slot = *writer_->SlotOf(Write(10, 'a'));
  EXPECT_THAT(reader_->Read(slot + 1, 10),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("before it was filled")));
  ASSERT_OK_AND_ASSIGN(SharedBytes read, reader_->Read(slot, 10));
  EXPECT_THAT(reader_->Read(slot, 10),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("was named twice")));
  read = SharedBytes();
  EXPECT_THAT(reader_->Read(slot, 10),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(SharedSlotsTest, NothingOutsideTheSlotsIsRead) {
  const int slot = *writer_->SlotOf(Write(10, 'a'));
  for (const auto& [which, bytes] :
       std::vector<std::pair<int, int64_t>>{{-1, 10},
                                            {kSlots, 10},
                                            {slot, 0},
                                            {slot, -1},
                                            {slot, kSlotBytes + 1}}) {
    EXPECT_THAT(reader_->Read(which, bytes),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("shared memory has no")));
  }
}

TEST_F(SharedSlotsTest, ReadBytesOutliveBothEnds) {
  const int slot = *writer_->SlotOf(Write(10, 'a'));
  ASSERT_OK_AND_ASSIGN(const SharedBytes read, reader_->Read(slot, 10));
  writer_.reset();
  reader_.reset();
  EXPECT_EQ(read.span()[9], std::byte('a'));
}

// A peer that shrinks the memory would crash its readers.
TEST_F(SharedSlotsTest, TheMemoryCannotShrink) {
  const SharedSlotsName name = writer_->name();
  EXPECT_NE(ftruncate(name.descriptor, 0), 0);
  EXPECT_EQ(errno, EPERM);
}

TEST_F(SharedSlotsTest, OnlyTheNamedMemoryIsOpened) {
  int pipe_fds[2] = {-1, -1};
  ASSERT_EQ(pipe(pipe_fds), 0);
  ASSERT_OK_AND_ASSIGN(const auto other,
                       SharedSlotsWriter::Create(kSlotBytes, kSlots));
  const std::vector<std::function<void(SharedSlotsName&)>> changes = {
      [](SharedSlotsName& name) { ++name.token; },
      [](SharedSlotsName& name) { ++name.num_slots; },
      [](SharedSlotsName& name) { name.slot_bytes *= 2; },
      [](SharedSlotsName& name) { name.num_slots = 0; },
      [](SharedSlotsName& name) { name.slot_bytes = int64_t{1} << 62; },
      [](SharedSlotsName& name) { name.process = 0; },
      [](SharedSlotsName& name) { name.descriptor = -1; },
      [&](SharedSlotsName& name) { name.descriptor = pipe_fds[0]; },
      [&](SharedSlotsName& name) {
        name.descriptor = other->name().descriptor;
      }};
  for (size_t i = 0; i < changes.size(); ++i) {
    SharedSlotsName name = writer_->name();
    changes[i](name);
    EXPECT_THAT(SharedSlotsReader::Open(name),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << i;
  }
  SharedSlotsName gone = writer_->name();
  gone.descriptor = 1'000'000;
  EXPECT_THAT(SharedSlotsReader::Open(gone),
              StatusIs(absl::StatusCode::kNotFound));
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST_F(SharedSlotsTest, AnotherProcessReadsTheSlots) {
  const int slot = *writer_->SlotOf(Write(kSlotBytes, 'x'));
  const pid_t child = fork();
  if (child == 0) {
    const auto reader = SharedSlotsReader::Open(writer_->name());
    if (!reader.ok()) _exit(1);
    const auto read = (*reader)->Read(slot, kSlotBytes);
    if (!read.ok()) _exit(2);
    _exit(read->span()[kSlotBytes - 1] == std::byte('x') ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  // The other process has exited without freeing the slot.
  EXPECT_THAT(reader_->Read(slot, 1),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace gandem::testing
