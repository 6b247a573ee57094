// SPDX-License-Identifier: Apache-2.0
//
// Asks the `gandem doctor --listen` of another host.
//
// Thread safety: any thread.
// Errors: those of CreateChannel, of the call, and UNAVAILABLE or
// DEADLINE_EXCEEDED, with the reason, where nobody answers by the deadline.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/doctor.pb.h"

namespace gandem {

struct PeerLook {
  LookReply reply;
  // How long the call took: clocks cannot be compared better than that.
  absl::Duration round_trip;
  absl::Time asked_at;  // by the clock of this host
};

// Prefix of the name of a proof that the other host may read.
inline constexpr char kDoctorProof[] = "doctor-";

// `nonce_file`: in state/ of the run folder; empty: none is read.
absl::StatusOr<PeerLook> AskForLook(const std::string& address,
                                    const std::string& nonce_file,
                                    absl::Time deadline);

// Whether that host reaches `own_address`, where this process listens.
absl::Status AskForReturn(const std::string& address,
                          const std::string& own_address, absl::Time deadline);

}  // namespace gandem
