// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a profile is valid for a recipe on this machine.
// Thread safety: any thread.
#pragma once

#include "absl/status/status.h"
#include "proto/config.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

// Returns the fingerprint of `recipe` with this process's cores and memory.
ProfileFingerprint FingerprintHere(const RunConfig& recipe);

// Returns a hash of everything in a recipe that decides how long its networks
// take: networks, shape of the images, losses, penalties, augmentation, kind of
// optimizer and device; not batch sizes, constants, seeds and paths.
uint64_t NetworksHash(const RunConfig& recipe);

// Checks that `profile` is valid for the fingerprint `here`.
//   FAILED_PRECONDITION  lists each difference in model, machine or version,
//       and the remedy
absl::Status CheckProfileHolds(const Profile& profile,
                               const ProfileFingerprint& here);

}  // namespace gandem
