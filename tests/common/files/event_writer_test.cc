// SPDX-License-Identifier: Apache-2.0
#include "common/files/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "proto/tensorboard.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

const absl::Time kTime = absl::FromUnixMillis(1'700'000'000'250);

uint32_t MaskedCrc(absl::string_view bytes) {
  return MaskedCrc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

template <typename Integer>
Integer TakeInteger(absl::string_view& bytes) {
  Integer value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return value;
}

// Returns all records of a file after checking every CRC.
std::vector<tensorboard::Event> ReadEvents(const std::string& path) {
  const std::string file = *ReadFile(path);
  absl::string_view rest = file;
  std::vector<tensorboard::Event> events;
  while (!rest.empty()) {
    const absl::string_view length_bytes = rest.substr(0, 8);
    const auto length = TakeInteger<uint64_t>(rest);
    EXPECT_EQ(TakeInteger<uint32_t>(rest), MaskedCrc(length_bytes));
    const absl::string_view data = rest.substr(0, length);
    rest.remove_prefix(length);
    EXPECT_EQ(TakeInteger<uint32_t>(rest), MaskedCrc(data));
    EXPECT_TRUE(events.emplace_back().ParseFromArray(data.data(), data.size()));
  }
  return events;
}

TEST(EventWriterTest, StartsWithVersionAndFirstStep) {
  gandem::testing::TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       EventWriter::Open(dir / "new/events", 500, kTime));
  const auto events = ReadEvents(writer->path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[1].step(), 500);
  EXPECT_EQ(events[1].session_log().status(), tensorboard::SessionLog::START);
}

TEST(EventWriterTest, WithoutAFirstStepNothingIsDropped) {
  gandem::testing::TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       EventWriter::Open(dir.path(), std::nullopt, kTime));
  const auto events = ReadEvents(writer->path());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
}

TEST(EventWriterTest, EveryRecordIsVisibleAtOnce) {
  gandem::testing::TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       EventWriter::Open(dir.path(), 0, kTime));
  const EventWriter::Scalar scalars[] = {{"loss/generator", 0.5},
                                         {"loss/discriminator", -2}};
  ASSERT_OK(writer->AddScalars(7, kTime, scalars));
  auto events = ReadEvents(writer->path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].step(), 7);
  EXPECT_DOUBLE_EQ(events[2].wall_time(), 1'700'000'000.25);
  ASSERT_EQ(events[2].summary().value_size(), 2);
  EXPECT_EQ(events[2].summary().value(0).tag(), "loss/generator");
  EXPECT_EQ(events[2].summary().value(0).simple_value(), 0.5f);
  EXPECT_EQ(events[2].summary().value(1).simple_value(), -2.0f);

  const std::string png = *EncodePng(
      {.channels = 3, .height = 1, .width = 2, .pixels = {1, 2, 3, 4, 5, 6}});
  ASSERT_OK(writer->AddImage(8, kTime, "samples", png));
  events = ReadEvents(writer->path());
  ASSERT_EQ(events.size(), 4u);
  const auto& image = events[3].summary().value(0).image();
  EXPECT_EQ(image.height(), 1);
  EXPECT_EQ(image.width(), 2);
  EXPECT_EQ(image.colorspace(), 3);
  EXPECT_EQ(image.encoded_image_string(), png);
}

TEST(EventWriterTest, BytesThatAreNotPngAreRefused) {
  gandem::testing::TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       EventWriter::Open(dir.path(), 0, kTime));
  EXPECT_THAT(writer->AddImage(1, kTime, "samples", "BM"),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(ReadEvents(writer->path()).size(), 2u);
}

// TensorBoard would read such a file first and drop the newer rounds.
TEST(EventWriterTest, AClockSetBackDoesNotMakeAnOlderFile) {
  gandem::testing::TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto first,
                       EventWriter::Open(dir.path(), 0, kTime));
  ASSERT_OK_AND_ASSIGN(
      const auto second,
      EventWriter::Open(dir.path(), 500, kTime - absl::Hours(1)));
  EXPECT_LT(first->path(), second->path());
  EXPECT_EQ(ReadEvents(second->path())[1].step(), 500);
}

TEST(EventWriterTest, EveryOpenMakesANewFile) {
  gandem::testing::TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto first,
                       EventWriter::Open(dir.path(), 0, kTime));
  ASSERT_OK_AND_ASSIGN(const auto second,
                       EventWriter::Open(dir.path(), 0, kTime));
  EXPECT_LT(first->path(), second->path());
  EXPECT_THAT(first->path(), HasSubstr("tfevents.1700000000."));
}

TEST(EventWriterTest, AnUnwritableFolderIsAnError) {
  const absl::Status status =
      EventWriter::Open("/dev/null/x", 0, kTime).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/null"));
}

// A file-size limit simulates a full disk.
TEST(EventWriterTest, APartialRecordIsRemoved) {
  std::signal(SIGXFSZ, SIG_IGN);
  gandem::testing::TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       EventWriter::Open(dir.path(), 0, kTime));
  const EventWriter::Scalar scalars[] = {{std::string(5000, 'a'), 1}};
  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  rlimit limit = old_limit;
  limit.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status status = writer->AddScalars(1, kTime, scalars);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(writer->path()));
  EXPECT_EQ(ReadEvents(writer->path()).size(), 2u);
  ASSERT_OK(writer->AddScalars(2, kTime, scalars));
  const auto events = ReadEvents(writer->path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].step(), 2);
}

}  // namespace
}  // namespace gandem
