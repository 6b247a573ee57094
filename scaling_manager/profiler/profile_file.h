// SPDX-License-Identifier: Apache-2.0
//
// Profiles on disk: the file that the user names, and the cache of profiles
// measured on this machine, by fingerprint, in $XDG_CACHE_HOME/gandem/profiles
// or ~/.cache/gandem/profiles.
// Thread safety: any thread; files are replaced as a whole.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/profile.pb.h"

namespace gandem {

// Reads and checks a profile.
//   NOT_FOUND ...     the file cannot be read.
//   INVALID_ARGUMENT  "file:line:column: fault", or a missing field.
absl::StatusOr<Profile> ReadProfile(const std::string& path);
absl::Status WriteProfile(const std::string& path, const Profile& profile);

// Parses and checks a text as ReadProfile() does. `file`: its name in errors.
absl::StatusOr<Profile> ParseProfile(const std::string& text,
                                     const std::string& file);
std::string ProfileText(const Profile& profile);

// Returns the path of the cached profile, or "" if there is no home directory.
std::string CachedProfilePath(const ProfileFingerprint& here);
// Returns the cached profile for this fingerprint if it is readable and valid.
std::optional<Profile> FindCachedProfile(const ProfileFingerprint& here);
// Writes the profile to the cache. Replaces a profile with more probes only if
// `even_with_less`. Errors are ignored: an unwritable cache only costs time.
void KeepProfile(const Profile& profile, bool even_with_less);

}  // namespace gandem
