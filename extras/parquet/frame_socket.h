// SPDX-License-Identifier: Apache-2.0
//
// An end of the socketpair between gandem and data_worker, and the files in
// memory in which large answers travel: sealed, so that who receives one maps
// what nobody can change any more.
//
// Owner: each end its own. Thread safety: one thread at a time.
// Errors: those below, and
//   UNAVAILABLE        the other end is gone.
//   DEADLINE_EXCEEDED  Patience is used up.
//   DATA_LOSS          what arrives is no frame (data_frames.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "extras/parquet/data_frames.h"

namespace gandem {

// A descriptor that is closed at the end; -1: none.
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

// How long may still be waited for the other end; waiting takes from it.
struct Patience {
  absl::Duration left = absl::InfiniteDuration();
};

class FrameSocket {
 public:
  explicit FrameSocket(OwnedFd fd) : fd_(std::move(fd)) {}

  // `payload` goes along with the frame, `file` is given to the other end;
  // -1: none. The frame must say how many bytes these are.
  absl::Status Send(const DataFrame& frame, absl::string_view payload, int file,
                    Patience& patience);

  struct Received {
    DataFrame frame = {};
    OwnedFd file = OwnedFd();
  };
  absl::StatusOr<Received> Receive(Patience& patience);
  // What follows a frame.
  absl::StatusOr<std::string> ReceivePayload(int64_t size, Patience& patience);

 private:
  absl::Status Wait(short events, Patience& patience) const;
  absl::Status SendAll(absl::string_view bytes, Patience& patience);

  OwnedFd fd_;
};

// A sealed file in memory of `pieces`, one after the other.
//   RESOURCE_EXHAUSTED  there is no memory for it.
absl::StatusOr<OwnedFd> SealedFile(std::span<const absl::string_view> pieces);

absl::StatusOr<int64_t> SizeOf(const OwnedFd& file);

// The contents of a sealed file, mapped.
class SealedBytes {
 public:
  //   DATA_LOSS  it is not sealed, or has another size.
  static absl::StatusOr<SealedBytes> Map(const OwnedFd& file, int64_t size);
  SealedBytes(SealedBytes&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})) {}
  SealedBytes& operator=(SealedBytes&&) = delete;
  ~SealedBytes();

  absl::string_view bytes() const { return bytes_; }

 private:
  explicit SealedBytes(absl::string_view bytes) : bytes_(bytes) {}

  absl::string_view bytes_;  // "": nothing is mapped
};

}  // namespace gandem
