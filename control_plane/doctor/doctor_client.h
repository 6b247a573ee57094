// SPDX-License-Identifier: Apache-2.0
//
// Client of `gandem doctor --listen` on another host.
//
// Thread safety: any thread.
// Errors: those of CreateChannel and of the call. UNAVAILABLE or
// DEADLINE_EXCEEDED: no answer by the deadline.
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

// Prefix of the name of a proof file, which other hosts may read.
inline constexpr char kDoctorProof[] = "doctor-";

// Asks the host at `address` for its version, clock and numerics. `nonce_file`:
// proof file in the run folder's state/ for the host to read; empty: none.
absl::StatusOr<PeerLook> AskForLook(const std::string& address,
                                    const std::string& nonce_file,
                                    absl::Time deadline);

// Asks the host at `address` to connect to this process at `own_address`.
absl::Status AskForReturn(const std::string& address,
                          const std::string& own_address, absl::Time deadline);

}  // namespace gandem
