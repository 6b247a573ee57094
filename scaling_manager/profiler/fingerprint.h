// SPDX-License-Identifier: Apache-2.0
//
// Whether a profile may be taken for a recipe on this machine.
//
// Thread safety: any thread.
#pragma once

#include "absl/status/status.h"
#include "proto/config.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

// Of `recipe` here: on the cores that this process may use, in the memory that
// it may have.
ProfileFingerprint FingerprintHere(const RunConfig& recipe);

// What of a recipe decides the times of its networks: these, the images' shape,
// losses, penalties, augmentation, the kind of optimizer and the device.
// Without batch sizes, constants, seeds and paths.
uint64_t NetworksHash(const RunConfig& recipe);

// Does `profile` hold where `here` is the fingerprint?
//   FAILED_PRECONDITION  it does not: names each difference, of the model, the
//                        machine or the version, and what to do.
absl::Status CheckProfileHolds(const Profile& profile,
                               const ProfileFingerprint& here);

}  // namespace gandem
