// SPDX-License-Identifier: Apache-2.0
//
// Config checks by extras (extras/README.md). Every build knows the fields of
// all extras, so a build that lacks an extra can name it.
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
  // Checks the fields of the extra's network family against each other; each
  // field is already within its range. `path` is for example
  // "generator.network.r3gan". Null: the extra has no family.
  void (*check_network)(const std::string& path, const NetworkConfig& network,
                        int64_t image_size, Faults& faults) = nullptr;
  // Checks a run. Null: nothing to check.
  void (*check_run)(const RunConfig& config, Faults& faults) = nullptr;
};

std::vector<ConfigExtra> ConfigExtras();

// Returns the extra `name` from `built`, or adds a fault about the field
// `what`.
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
