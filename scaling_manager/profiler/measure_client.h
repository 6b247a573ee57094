// SPDX-License-Identifier: Apache-2.0
//
// A worker process in profile mode, and a watch on it: a call ends when it is
// answered, when the process ends, when it has more memory than it may, or at
// its deadline. In the latter two cases the process is killed; nobody waits for
// it, and the machine does not run out of memory for it.
//
// Memory is what is resident, looked at every few milliseconds: limits on
// address space (RLIMIT_AS, RLIMIT_DATA) count what LibTorch, OpenMP and gRPC
// reserve and never touch, several times of what they use.
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
    std::string folder = {};  // for its socket and its log
    std::string name = {};    // of both, unique in `folder`
    std::string token_file = {};
    std::vector<int> cores = {};  // empty: any
    int64_t memory_bytes = 0;     // that it may have; 0: any
  };
  // How a call ended.
  struct End {
    Probe::Outcome outcome = Probe::MEASURED;
    std::string message = {};
  };

  // Errors: those of ChildProcess::Start and CreateChannel.
  static absl::StatusOr<std::unique_ptr<MeasureClient>> Start(Options options);
  MeasureClient(const MeasureClient&) = delete;
  MeasureClient& operator=(const MeasureClient&) = delete;
  // Kills the process.
  ~MeasureClient();

  // Asks the worker, on a thread of its own until Wait returns; `reply` is that
  // thread's until then. Prepare waits for the worker to come up, too.
  void Prepare(const PrepareRequest& request, absl::Time deadline,
               PrepareReply* reply);
  void Measure(const MeasureRequest& request, absl::Time deadline,
               MeasureReply* reply);
  void Transfer(const TransferRequest& request, absl::Time deadline,
                TransferReply* reply);
  // Until the calls of all workers have ended; how, in their order. When one
  // has failed, the others are given up.
  //   CANCELLED  `interrupted` said so.
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

  // Looks at the process and the call; true: it has ended.
  bool Look(absl::Time deadline);
  bool HasFailed();
  // Kills the process and ends the call so, unless it has ended.
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
  Thread thread_;  // last: it uses the above
};

}  // namespace gandem
