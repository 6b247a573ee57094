// SPDX-License-Identifier: Apache-2.0
//
// Asks the `gandem doctor --listen` of another host.
//
// Thread safety: any thread.
// Errors: those of CreateChannel, of the call, and UNAVAILABLE or
// DEADLINE_EXCEEDED, with the reason, where nobody answers by the deadline.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/doctor.pb.h"

namespace gandem {

struct LinkSpeed {
  double there = 0;  // bytes a second, to the one that was asked
  double back = 0;
};

struct PeerLook {
  LookReply reply;
  // How long the call took: clocks cannot be compared better than that.
  absl::Duration round_trip;
  absl::Time asked_at;  // by the clock of this host
};

// What the name of a proof that the other host may read begins with.
inline constexpr char kDoctorProof[] = "doctor-";

// `nonce_file`: in state/ of the run folder.
absl::StatusOr<PeerLook> AskForLook(const std::string& address,
                                    const std::string& nonce_file,
                                    absl::Time deadline);

// A few MiB in each direction, or what fits in two seconds.
absl::StatusOr<LinkSpeed> MeasureLink(const std::string& address,
                                      absl::Time deadline);

// Bytes a second from there to `own_address`, where this process listens.
absl::StatusOr<double> AskForReturn(const std::string& address,
                                    const std::string& own_address,
                                    absl::Time deadline);

}  // namespace gandem
