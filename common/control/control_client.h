// SPDX-License-Identifier: Apache-2.0
//
// The workers' side of the control plane (proto/control.proto). The life of a
// worker process:
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
// Errors of the waiting calls:
//   DEADLINE_EXCEEDED  nobody answered by the deadline.
//   ABORTED            superseded by another process, or the run is over.
//   CANCELLED          Cancel() was called.
//   UNAUTHENTICATED    the token is of another run.
//   DATA_LOSS          a message arrived damaged, and again when it was sent
//                      once more.
//   the coordinator's  it refused what was sent, e.g. INVALID_ARGUMENT.
// ExitCodeOf() of each is the worker's exit code.
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
    absl::Duration call_timeout = absl::Seconds(10);  // of one try
    absl::Duration retry_interval = absl::Milliseconds(100);
  };

  // Does not connect yet. INVALID_ARGUMENT lists every bad option.
  static absl::StatusOr<std::unique_ptr<ControlClient>> Create(Options options);
  ~ControlClient();

  // Starts a run epoch for this process; tries again while nobody answers,
  // which it logs every few seconds, and while fleets that re-form wait for
  // others. `held_rounds`: those of the state that the process holds in memory,
  // if it does.
  absl::StatusOr<RegisterReply> Register(
      absl::Time deadline, std::optional<int64_t> held_rounds = {});

  // Says that this worker is ready and waits until all are; incarnation and run
  // epoch are filled in. One of all_joined, epoch_superseded (register again)
  // and leave is set in the reply.
  absl::StatusOr<JoinReply> Join(JoinRequest request, absl::Time deadline);

  // One try each, for Heartbeats; incarnation and run epoch are filled in.
  // NOT_FOUND: there is a new coordinator, register again.
  absl::StatusOr<HeartbeatReply> Heartbeat(HeartbeatRequest request);
  absl::StatusOr<ShardReply> ReportShard(ShardReport report);

  // Fails all waiting and all later calls with CANCELLED; nothing else does.
  void Cancel();
  // Fails the calls that wait for an answer now, as if the coordinator had been
  // lost.
  void CancelCalls();

 private:
  struct Rpc;  // keeps gRPC out of this header
  ControlClient(Options options, std::unique_ptr<Rpc> rpc);

  RegisterRequest NewRegistration() const;
  // Fills in incarnation and run epoch.
  template <typename Request>
  void SayWho(Request& request) const;
  absl::Time EndOfTry(absl::Time deadline) const;
  absl::StatusOr<RegisterReply> TryRegister(const RegisterRequest& request,
                                            absl::Time deadline);
  // Waits for a retry interval; fails when the deadline comes before its end.
  absl::Status WaitToRetry(absl::Time deadline, const absl::Status& last);

  const Options options_;           // never changes after construction
  const std::unique_ptr<Rpc> rpc_;  // thread-safe by itself
  mutable absl::Mutex mu_;
  // Incarnation of the last registration; 0: none.
  int64_t incarnation_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t run_epoch_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace gandem
