// SPDX-License-Identifier: Apache-2.0
//
// One end of the socketpair between gandem and data_worker.
//
// Owner: the process of this end. Thread safety: one thread at a time.
// Errors: those below, and
//   UNAVAILABLE        the other end is gone.
//   DEADLINE_EXCEEDED  the other end was silent for too long.
//   DATA_LOSS          the received bytes are not a frame (data_frames.h).
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "extras/parquet/data_frames.h"

namespace gandem {

// Closes a file descriptor in its destructor. -1 if there is none.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd();

  int get() const { return fd_; }

 private:
  int fd_;
};

class FrameSocket {
 public:
  // `silence`: time limit of each wait for the other end.
  explicit FrameSocket(OwnedFd fd,
                       absl::Duration silence = absl::InfiniteDuration());

  // Sends `payload` after the frame and sets the frame's payload_bytes.
  absl::Status Send(DataFrame frame, absl::string_view payload = "");

  struct Received {
    DataFrame frame = {};
    std::string payload = {};
  };
  absl::StatusOr<Received> Receive();

 private:
  absl::Status SendAll(absl::string_view bytes);
  absl::StatusOr<std::string> ReceiveBytes(int64_t size);

  OwnedFd fd_;
};

}  // namespace gandem
