// SPDX-License-Identifier: Apache-2.0
//
// Worker side of the control plane (proto/control.proto). Use in a worker:
//
//   client = ControlClient::Create(...)
//   for each run epoch:
//     reply = client->Register(deadline)   config, epoch, where to start
//     Heartbeats heartbeats(client, {...})   heartbeats.h
//     ... open the exchange ...
//     joined = client->Join(ready, deadline)
//     ... rounds ...
//
// Owner: the worker's main; it outlives the Heartbeats.
// Thread safety: any thread.
// Errors of the waiting calls, whose ExitCodeOf() is the worker's exit code:
//   DEADLINE_EXCEEDED  no answer by the deadline
//   ABORTED            superseded by another process, or the run has ended
//   CANCELLED          Cancel() was called
//   UNAUTHENTICATED    the token belongs to another run
//   DATA_LOSS          a message was damaged, and damaged again when resent
//   other              the coordinator refused the message
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "proto/control.pb.h"

namespace gandem {

class ControlClient {
 public:
  struct Options {
    std::string address;       // required: "unix:/path" or "host:port"
    Role role = ROLE_UNKNOWN;  // required
    int rank = 0;
    absl::Duration call_timeout = absl::Seconds(10);  // of one attempt
    absl::Duration retry_interval = absl::Milliseconds(100);
  };

  // Does not connect yet.
  //   INVALID_ARGUMENT  lists all invalid options
  static absl::StatusOr<std::unique_ptr<ControlClient>> Create(Options options);
  ~ControlClient();

  // Starts a run epoch for this process. Retries while the coordinator does not
  // answer (logged) and while fleets that re-form wait for other workers.
  // `held_rounds`: completed rounds of the state in memory, if any.
  absl::StatusOr<RegisterReply> Register(
      absl::Time deadline, std::optional<int64_t> held_rounds = {});

  // Reports that this worker is ready and waits for all workers. Fills in
  // incarnation and run epoch. The reply sets one of all_joined,
  // epoch_superseded (register again) and leave.
  absl::StatusOr<JoinReply> Join(JoinRequest request, absl::Time deadline);

  // Sends one attempt, for Heartbeats. Fills in incarnation and run epoch.
  //   NOT_FOUND  a new coordinator answered: register again
  absl::StatusOr<HeartbeatReply> Heartbeat(HeartbeatRequest request);
  absl::StatusOr<ShardReply> ReportShard(ShardReport report);

  // Fails all waiting and all later calls with CANCELLED.
  void Cancel();
  // Fails the calls that wait now as if the coordinator were unreachable.
  void CancelCalls();

 private:
  struct Rpc;  // keeps gRPC out of this header
  ControlClient(Options options, std::unique_ptr<Rpc> rpc);

  RegisterRequest NewRegistration() const;
  template <typename Request>
  void SayWho(Request& request) const;
  absl::Time EndOfTry(absl::Time deadline) const;
  absl::StatusOr<RegisterReply> TryRegister(const RegisterRequest& request,
                                            absl::Time deadline);
  // Fails if the deadline is earlier than the end of the retry interval.
  absl::Status WaitToRetry(absl::Time deadline, const absl::Status& last);

  const Options options_;
  const std::unique_ptr<Rpc> rpc_;
  mutable absl::Mutex mu_;
  // 0: not registered.
  int64_t incarnation_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t run_epoch_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace gandem
