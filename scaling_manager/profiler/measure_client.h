// SPDX-License-Identifier: Apache-2.0
//
// Supervises a worker process in profile mode. A call ends when it is answered,
// when the process ends, when the process exceeds its memory limit, or at its
// deadline. In the last two cases the process is killed, so that it neither
// blocks the profiler nor exhausts the machine's memory.
//
// The limit is on resident memory, polled every few milliseconds. A limit on
// address space (RLIMIT_AS, RLIMIT_DATA) would count memory that LibTorch,
// OpenMP and gRPC reserve and never touch, several times the used memory.
//
// Owner: `gandem profile`, on one thread, which lives as long as the workers
// may (common/process/child_process.h). Thread safety: one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/process/child_process.h"
#include "common/process/thread.h"
#include "common/programs/worker_program.h"
#include "proto/measure.pb.h"
#include "proto/metrics.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

class MeasureClient {
 public:
  struct Options {
    Role role = ROLE_UNKNOWN;
    WorkerProgram program = {};
    std::string folder = {};  // for the socket and the log
    std::string name = {};    // of the socket and the log, unique in `folder`
    std::string token_file = {};
    std::vector<int> cores = {};  // empty: any core
    int64_t memory_bytes = 0;     // limit of resident memory; 0: none
  };
  // Result of a call.
  struct End {
    Probe::Outcome outcome = Probe::MEASURED;
    std::string message = {};
  };

  // Starts the process. Errors: those of ChildProcess::Start and CreateChannel.
  static absl::StatusOr<std::unique_ptr<MeasureClient>> Start(Options options);
  MeasureClient(const MeasureClient&) = delete;
  MeasureClient& operator=(const MeasureClient&) = delete;
  ~MeasureClient();

  // Starts a call to the worker on another thread, which owns `reply` until
  // Wait() returns. Prepare() also waits until the worker accepts calls.
  void Prepare(const PrepareRequest& request, absl::Time deadline,
               PrepareReply* reply);
  void Measure(const MeasureRequest& request, absl::Time deadline,
               MeasureReply* reply);
  void Transfer(const TransferRequest& request, absl::Time deadline,
                TransferReply* reply);
  // Waits for the calls of all workers and returns their results, in order.
  // When one call fails, cancels the others.
  //   CANCELLED  `interrupted` returned true
  static absl::StatusOr<std::vector<End>> Wait(
      std::span<const std::unique_ptr<MeasureClient>> workers,
      absl::Time deadline, const std::function<bool()>& interrupted);

 private:
  struct Rpc;
  MeasureClient(Options options, ChildProcess process,
                std::unique_ptr<Rpc> rpc);

  template <typename Method, typename Request, typename Reply>
  void Ask(Method method, const Request& request, absl::Time deadline,
           Reply* reply);

  // Checks the process and the call. Returns true when the call has ended.
  bool Look(absl::Time deadline);
  bool HasFailed();
  // Kills the process and ends its call with `end`, unless the call has ended.
  void GiveUp(End end);
  End EndOfProcess(const ProcessEnd& end) const;
  End EndOfCall();
  std::string LastWords() const;

  const Options options_;
  ChildProcess process_;
  const std::unique_ptr<Rpc> rpc_;
  std::optional<End> given_up_;

  absl::Mutex mu_;
  std::optional<absl::Status> answer_ ABSL_GUARDED_BY(mu_);
  Thread thread_;  // declared last: its thread uses the members above
};

}  // namespace gandem
