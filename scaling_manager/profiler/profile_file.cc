// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/profile_file.h"

#include <google/protobuf/text_format.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/config/run_config.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/sha256.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "scaling_manager/planner/model/profile_probes.h"
#include "scaling_manager/profiler/fingerprint.h"

namespace gandem {
namespace {

// Checks that required fields are set; CheckProfile checks the numbers.
absl::Status CheckComplete(const Profile& profile, const std::string& file) {
  Faults faults(file);
  if (!profile.has_fingerprint()) faults.Add("fingerprint is missing");
  if (!profile.has_recipe()) faults.Add("recipe is missing");
  for (int i = 0; i < profile.probes_size(); ++i) {
    const Probe& probe = profile.probes(i);
    if (probe.settings().role() < GENERATOR ||
        probe.settings().role() > COLOCATED) {
      faults.Add(absl::StrCat("probes[", i, "].settings.role is missing"));
    }
    if (probe.outcome() == Probe::MEASURED && !probe.has_round()) {
      faults.Add(absl::StrCat("probes[", i, "].round is missing"));
    }
  }
  return faults.empty() ? absl::OkStatus() : faults.ToStatus();
}

}  // namespace

absl::StatusOr<Profile> ParseProfile(const std::string& text,
                                     const std::string& file) {
  Profile profile;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, file, profile));
  GANDEM_RETURN_IF_ERROR(CheckComplete(profile, file));
  GANDEM_RETURN_IF_ERROR(Annotate(CheckProfile(profile), file));
  // Plans are made for this recipe.
  const absl::Status recipe = ValidateRunConfig(profile.recipe());
  if (!recipe.ok()) return Annotate(recipe, absl::StrCat(file, ": recipe"));
  return profile;
}

absl::StatusOr<Profile> ReadProfile(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  return ParseProfile(text, path);
}

std::string ProfileText(const Profile& profile) {
  std::string text;
  GANDEM_CHECK(google::protobuf::TextFormat::PrintToString(profile, &text));
  return text;
}

absl::Status WriteProfile(const std::string& path, const Profile& profile) {
  return WriteFileDurably(path, ProfileText(profile));
}

std::string CachedProfilePath(const ProfileFingerprint& here) {
  std::string folder;
  if (const char* const cache = std::getenv("XDG_CACHE_HOME");
      cache != nullptr && *cache != '\0') {
    folder = cache;
  } else if (const char* const home = std::getenv("HOME");
             home != nullptr && *home != '\0') {
    folder = absl::StrCat(home, "/.cache");
  } else {
    return "";
  }
  Sha256 digest;
  // FindCachedProfile compares the memory, because it varies slightly.
  digest.Update(absl::StrCat(here.machine(), "|", here.cores(), "|",
                             here.networks(), "|", here.release(), "|",
                             here.torch_version()));
  return absl::StrCat(folder, "/gandem/profiles/",
                      digest.Finish().substr(0, 16), ".textproto");
}

std::optional<Profile> FindCachedProfile(const ProfileFingerprint& here) {
  const std::string path = CachedProfilePath(here);
  if (path.empty() || !PathExists(path)) return std::nullopt;
  absl::StatusOr<Profile> profile = ReadProfile(path);
  if (!profile.ok() || !CheckProfileHolds(*profile, here).ok()) {
    return std::nullopt;
  }
  return *std::move(profile);
}

void KeepProfile(const Profile& profile, bool even_with_less) {
  const std::string path = CachedProfilePath(profile.fingerprint());
  if (path.empty() || !CreateDirectories(ParentOf(path)).ok()) return;
  const std::optional<Profile> kept = FindCachedProfile(profile.fingerprint());
  if (kept.has_value() && kept->probes_size() > profile.probes_size() &&
      !even_with_less) {
    return;
  }
  WriteProfile(path, profile).IgnoreError();
}

}  // namespace gandem
