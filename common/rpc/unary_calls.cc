// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/unary_calls.h"

#include "common/monotonic_time.h"

namespace gandem {

absl::Status UnaryCalls::Begin(grpc::ClientContext& context) {
  // A call that fails at once while nobody listens would leave gRPC without a
  // thread that notices the new connection, but for a poll every 5 seconds.
  context.set_wait_for_ready(true);
  absl::MutexLock lock(&mu_);
  if (is_cancelled_) return cancelled_;
  running_.insert(&context);
  return absl::OkStatus();
}

absl::Status UnaryCalls::End(grpc::ClientContext& context,
                             const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  running_.erase(&context);
  if (is_cancelled_) return cancelled_;
  return absl::IsCancelled(status)
             ? absl::UnavailableError("the call was cut off")
             : status;
}

void UnaryCalls::Cancel(bool for_good) {
  absl::MutexLock lock(&mu_);
  is_cancelled_ = is_cancelled_ || for_good;
  for (grpc::ClientContext* context : running_) context->TryCancel();
}

bool UnaryCalls::WaitUntil(absl::Time time) {
  absl::MutexLock lock(&mu_);
  return !AwaitUntil(&mu_, absl::Condition(&is_cancelled_), time);
}

}  // namespace gandem
