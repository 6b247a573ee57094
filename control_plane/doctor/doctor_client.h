// SPDX-License-Identifier: Apache-2.0
//
// Asks the `gandem doctor --listen` of another host.
//
// Thread safety: any thread.
// Errors: those of CreateChannel and of the call. UNAVAILABLE or
// DEADLINE_EXCEEDED, with the reason: no answer by the deadline.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/doctor.pb.h"

namespace gandem {

struct PeerLook {
  LookReply reply;
  // Duration of the call, which limits the precision of comparing clocks.
  absl::Duration round_trip;
  absl::Time asked_at;  // by the clock of this host
};

// Prefix of the name of a proof that the other host may read.
inline constexpr char kDoctorProof[] = "doctor-";

// Asks the doctor at `address`. `nonce_file`: file in state/ of the run folder
// for it to read. Empty: none.
absl::StatusOr<PeerLook> AskForLook(const std::string& address,
                                    const std::string& nonce_file,
                                    absl::Time deadline);

// Asks that host to connect to `own_address`, where this process listens.
absl::Status AskForReturn(const std::string& address,
                          const std::string& own_address, absl::Time deadline);

}  // namespace gandem
