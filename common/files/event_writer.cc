// SPDX-License-Identifier: Apache-2.0
#include "common/files/event_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/files/png.h"
#include "common/status.h"
#include "proto/tensorboard.pb.h"

namespace gandem {
namespace {

constexpr char kPrefix[] = "events.out.tfevents.";

template <typename Integer>
void AppendLittleEndian(Integer value, std::string& out) {
  for (size_t i = 0; i < sizeof(value); ++i) {
    out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

uint32_t MaskedCrc(absl::string_view bytes) {
  return MaskedCrc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

// The length has its own checksum, so readers can trust it first.
std::string TfRecord(const std::string& data) {
  std::string record;
  AppendLittleEndian<uint64_t>(data.size(), record);
  AppendLittleEndian<uint32_t>(MaskedCrc(record), record);
  record += data;
  AppendLittleEndian<uint32_t>(MaskedCrc(data), record);
  return record;
}

double UnixSeconds(absl::Time time) {
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

// Returns the seconds in the name of the last event file, or -1.
absl::StatusOr<int64_t> NewestFile(const std::string& folder) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(folder));
  int64_t newest = -1;
  for (const absl::string_view name : names) {
    absl::string_view rest = name;
    int64_t seconds = 0;
    if (absl::ConsumePrefix(&rest, kPrefix) &&
        absl::SimpleAtoi(rest.substr(0, rest.find('.')), &seconds)) {
      newest = std::max(newest, seconds);
    }
  }
  return newest;
}

std::string HostName() {
  char name[256] = "localhost";
  (void)gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventWriter>> EventWriter::Open(
    const std::string& folder, std::optional<int64_t> first_step,
    absl::Time now) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
  // TensorBoard reads files in order of name and drops steps only from files
  // that it has already read, so the new file needs the last name.
  GANDEM_ASSIGN_OR_RETURN(const int64_t newest, NewestFile(folder));
  const int64_t seconds = std::max(absl::ToUnixSeconds(now), newest + 1);
  // The counter avoids the name of a removed file.
  static std::atomic<int> next_number = 0;
  while (true) {
    const std::string path = absl::StrFormat(
        "%s%010d.%s.%d.%06d", absl::StrCat(folder, "/", kPrefix), seconds,
        HostName(), getpid(), next_number++);
    const int fd =
        OpenFile(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return FileError(errno, "create event file", path);
    auto writer = std::unique_ptr<EventWriter>(new EventWriter(path, fd));
    GANDEM_RETURN_IF_ERROR(writer->WriteStart(first_step, now));
    return writer;
  }
}

EventWriter::~EventWriter() { close(fd_); }

absl::Status EventWriter::WriteStart(std::optional<int64_t> first_step,
                                     absl::Time now) {
  tensorboard::Event version;
  version.set_wall_time(UnixSeconds(now));
  version.set_file_version("brain.Event:2");
  GANDEM_RETURN_IF_ERROR(Write(version));
  if (!first_step.has_value()) return absl::OkStatus();
  tensorboard::Event start;
  start.set_wall_time(UnixSeconds(now));
  start.set_step(*first_step);
  start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
  return Write(start);
}

absl::Status EventWriter::AddScalars(int64_t step, absl::Time time,
                                     std::span<const Scalar> scalars) {
  tensorboard::Event event;
  event.set_wall_time(UnixSeconds(time));
  event.set_step(step);
  for (const Scalar& scalar : scalars) {
    tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(scalar.tag);
    value.set_simple_value(static_cast<float>(scalar.value));
  }
  return Write(event);
}

absl::Status EventWriter::AddImage(int64_t step, absl::Time time,
                                   absl::string_view tag,
                                   absl::string_view png) {
  GANDEM_ASSIGN_OR_RETURN(const PixelImage decoded, DecodePng(png));
  tensorboard::Event event;
  event.set_wall_time(UnixSeconds(time));
  event.set_step(step);
  tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(std::string(tag));
  tensorboard::Summary::Image& image = *value.mutable_image();
  image.set_height(static_cast<int32_t>(decoded.height));
  image.set_width(static_cast<int32_t>(decoded.width));
  image.set_colorspace(static_cast<int32_t>(decoded.channels));
  image.set_encoded_image_string(std::string(png));
  return Write(event);
}

// Removed because TensorBoard stops at the first truncated record.
absl::Status EventWriter::Write(const tensorboard::Event& event) {
  const std::string record = TfRecord(event.SerializeAsString());
  size_t done = 0;
  while (done < record.size()) {
    const ssize_t wrote =
        pwrite(fd_, record.data() + done, record.size() - done,
               size_ + static_cast<int64_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int error = wrote < 0 ? errno : EIO;
      if (ftruncate(fd_, size_) != 0) {
        return FileError(errno, "take back half a record of", path_);
      }
      return FileError(error, "write event file", path_);
    }
    done += static_cast<size_t>(wrote);
  }
  size_ += static_cast<int64_t>(record.size());
  return absl::OkStatus();
}

}  // namespace gandem
