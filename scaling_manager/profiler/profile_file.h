// SPDX-License-Identifier: Apache-2.0
//
// Profiles on disk: the file that a user named, and those that were measured
// before on this machine, by fingerprint, in $XDG_CACHE_HOME/gandem/profiles or
// ~/.cache/gandem/profiles.
//
// Thread safety: any thread; files are replaced as a whole.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/profile.pb.h"

namespace gandem {

//   NOT_FOUND ...     the file cannot be read.
//   INVALID_ARGUMENT  "file:line:column: what", or what a profile must have and
//                     this one has not.
absl::StatusOr<Profile> ReadProfile(const std::string& path);
absl::Status WriteProfile(const std::string& path, const Profile& profile);

// The same for text; `file` is its name in errors.
absl::StatusOr<Profile> ParseProfile(const std::string& text,
                                     const std::string& file);
std::string ProfileText(const Profile& profile);

// Where the profile with this fingerprint is kept; empty: there is no home.
std::string CachedProfilePath(const ProfileFingerprint& here);
// The profile that is kept there, if there is one that can be read.
std::optional<Profile> FindCachedProfile(const ProfileFingerprint& here);
// Keeps it there: in place of one with more probes only if `even_with_less`. A
// cache that cannot be written costs time, and nothing else.
void KeepProfile(const Profile& profile, bool even_with_less);

}  // namespace gandem
