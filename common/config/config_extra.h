// SPDX-License-Identifier: Apache-2.0
//
// Checks by extras (extras/README.md) of the recipes that use them. Recipes
// have the fields of all extras in every build, so that a build without an
// extra can say which one it lacks.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/faults.h"
#include "common/process/missing_extra.h"
#include "proto/config.pb.h"

namespace gandem {

struct ConfigExtra {
  absl::string_view name;
  // Adds what does not fit together in a network of the family that the extra
  // brings. Each field by itself is within its range. `path` names the family:
  // "generator.network.r3gan". Null: the extra brings no family.
  void (*check_network)(const std::string& path, const NetworkConfig& network,
                        int64_t image_size, Faults& faults) = nullptr;
  // Adds what does not fit together in a run. Null: nothing can be wrong.
  void (*check_run)(const RunConfig& config, Faults& faults) = nullptr;
};

// The extras of this build.
std::vector<ConfigExtra> ConfigExtras();

// The extra that the field `what` needs, out of `built`. Nothing, and a fault:
// it is not there.
inline std::optional<ConfigExtra> ConfigExtraFor(
    const std::string& what, absl::string_view name, Faults& faults,
    const std::vector<ConfigExtra>& built = ConfigExtras()) {
  for (const ConfigExtra& extra : built) {
    if (extra.name == name) return extra;
  }
  faults.Add(std::string(MissingExtraError(what, name).message()));
  return std::nullopt;
}

}  // namespace gandem
