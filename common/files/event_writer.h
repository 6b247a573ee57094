// SPDX-License-Identifier: Apache-2.0
//
// Writes scalars and images for TensorBoard: a file of TFRecords (length,
// masked CRC32C of the length, data, masked CRC32C of the data; little-endian)
// that hold tensorboard.Event messages. What a call wrote is visible to readers
// when it returns.
//
// Owner: the process that reports. Thread safety: one thread.
// Errors: those of common/files/file.h. A record that could not be written
// whole is taken back, so the file stays readable and the next call may
// succeed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gandem {

namespace tensorboard {
class Event;
}  // namespace tensorboard

class EventWriter {
 public:
  struct Scalar {
    std::string tag;
    double value = 0;
  };

  // Starts a new file in `folder`, which it creates if need be, behind all
  // event files that are there: it makes no difference that a clock was set
  // back. With a `first_step` TensorBoard drops what earlier files of the
  // folder say about it and later steps: a resumed run does these again.
  static absl::StatusOr<std::unique_ptr<EventWriter>> Open(
      const std::string& folder, std::optional<int64_t> first_step,
      absl::Time now);
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  ~EventWriter();

  absl::Status AddScalars(int64_t step, absl::Time time,
                          std::span<const Scalar> scalars);

  // `png` holds the bytes of a PNG; DATA_LOSS when it does not.
  absl::Status AddImage(int64_t step, absl::Time time, absl::string_view tag,
                        absl::string_view png);

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // bytes that were written

 private:
  EventWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  absl::Status WriteStart(std::optional<int64_t> first_step, absl::Time now);
  absl::Status Write(const tensorboard::Event& event);

  const std::string path_;  // never changes after construction
  const int fd_;
  int64_t size_ = 0;  // bytes of whole records
};

}  // namespace gandem
