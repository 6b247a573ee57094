// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/doctor_client.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/monotonic_time.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_calls.h"
#include "common/status.h"
#include "proto/doctor.grpc.pb.h"

namespace gandem {

absl::StatusOr<PeerLook> AskForLook(const std::string& address,
                                    const std::string& nonce_file,
                                    absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(const auto channel, CreateChannel(address, {}));
  const auto stub = Doctor::NewStub(channel);
  LookRequest request;
  request.set_nonce_file(nonce_file);
  PeerLook look;
  // Measures the second call, because the first call also connects.
  for (int i = 0; i < 2; ++i) {
    look.asked_at = absl::Now();
    const absl::Time start = MonotonicNow();
    GANDEM_ASSIGN_OR_RETURN(
        look.reply, CallOnce(*stub, &Doctor::Stub::Look, request, address,
                             *ProcessCredentials(), deadline));
    look.round_trip = MonotonicNow() - start;
  }
  return look;
}

absl::Status AskForReturn(const std::string& address,
                          const std::string& own_address, absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(const auto channel, CreateChannel(address, {}));
  const auto stub = Doctor::NewStub(channel);
  ReturnRequest request;
  request.set_address(own_address);
  return CallOnce(*stub, &Doctor::Stub::Return, request, address,
                  *ProcessCredentials(), deadline)
      .status();
}

}  // namespace gandem
