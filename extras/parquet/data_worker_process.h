// SPDX-License-Identifier: Apache-2.0
//
// A running data_worker, whose standard input is the socket between us. It
// cannot outlive us, nor the object: the kernel kills it when the thread that
// started it ends, so that is a thread of its own.
//
// Owner: DataWorkerPool. Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "common/process/thread.h"
#include "extras/parquet/frame_socket.h"

namespace gandem {

class DataWorkerProcess {
 public:
  // `program`: its path.
  //   NOT_FOUND, PERMISSION_DENIED ...  it cannot be executed.
  static absl::StatusOr<std::unique_ptr<DataWorkerProcess>> Start(
      const std::string& program);
  // Kills it.
  ~DataWorkerProcess();

  // Our end; once.
  FrameSocket TakeSocket() { return FrameSocket(std::move(ours_)); }

  // "was killed by signal 11 (Segmentation fault)"; waits a moment for its end,
  // then kills it. Once.
  std::string HowItEnded();

 private:
  explicit DataWorkerProcess(OwnedFd ours) : ours_(std::move(ours)) {}
  void Keep(const std::string& program, OwnedFd theirs);

  OwnedFd ours_;
  // Each is written before the notification that follows it here, and read
  // after that.
  absl::Status start_;
  absl::Notification started_;
  bool may_end_alone_ = false;
  absl::Notification stop_;
  std::string end_ = "did not end by itself";  // read after the thread's end
  Thread keeper_;                              // last: it uses all of the above
};

// data_worker beside the running program.
absl::StatusOr<std::string> DataWorkerProgram();

}  // namespace gandem
