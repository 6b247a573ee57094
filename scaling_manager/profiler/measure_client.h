// SPDX-License-Identifier: Apache-2.0
//
// The asking end of proto/measure.proto.
//
// Owner: a MeasuredWorker. Thread safety: any thread; one call at a time, which
// Cancel ends from another one.
// Errors: those of the worker; DEADLINE_EXCEEDED; UNAVAILABLE when it is gone;
// CANCELLED.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/measure.pb.h"

namespace gandem {

class MeasureClient {
 public:
  // Errors: those of CreateChannel (common/rpc/channel.h).
  static absl::StatusOr<std::unique_ptr<MeasureClient>> Create(
      const std::string& address);
  ~MeasureClient();

  // Waits for the worker to come up, too.
  absl::StatusOr<PrepareReply> Prepare(const PrepareRequest& request,
                                       absl::Time deadline);
  absl::StatusOr<MeasureReply> Measure(const MeasureRequest& request,
                                       absl::Time deadline);
  absl::StatusOr<TransferReply> Transfer(const TransferRequest& request,
                                         absl::Time deadline);
  // Ends the call that is under way, and all later ones.
  void Cancel();

 private:
  struct Rpc;
  explicit MeasureClient(std::unique_ptr<Rpc> rpc);

  const std::unique_ptr<Rpc> rpc_;
};

}  // namespace gandem
