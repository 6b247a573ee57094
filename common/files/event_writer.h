// SPDX-License-Identifier: Apache-2.0
//
// Writes scalars and images for TensorBoard: a file of TFRecords (length,
// masked CRC32C of the length, data, masked CRC32C of the data; little-endian)
// with tensorboard.Event messages. Each call makes its record visible.
//
// Owner: the process that reports. Thread safety: one thread.
// Errors: those of common/files/file.h. A partly written record is removed, so
// the file stays readable and the next call may succeed.
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

  // Creates a new file in `folder` (and the folder if necessary). The name
  // sorts after all event files of the folder even if the clock was set back.
  // With a `first_step`, TensorBoard drops all data of that step and later ones
  // from earlier files; a resumed run writes these steps again.
  static absl::StatusOr<std::unique_ptr<EventWriter>> Open(
      const std::string& folder, std::optional<int64_t> first_step,
      absl::Time now);
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  ~EventWriter();

  absl::Status AddScalars(int64_t step, absl::Time time,
                          std::span<const Scalar> scalars);

  // Returns DATA_LOSS if `png` is not a PNG.
  absl::Status AddImage(int64_t step, absl::Time time, absl::string_view tag,
                        absl::string_view png);

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // bytes written

 private:
  EventWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  absl::Status WriteStart(std::optional<int64_t> first_step, absl::Time now);
  absl::Status Write(const tensorboard::Event& event);

  const std::string path_;
  const int fd_;
  int64_t size_ = 0;  // bytes of complete records
};

}  // namespace gandem
