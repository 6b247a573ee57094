// SPDX-License-Identifier: Apache-2.0
//
// Compares configs to decide whether a run may be resumed.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "proto/config.pb.h"

namespace gandem {

// Lists differing fields, for example "generator.batch_size: 64, now 32".
// Ignores fields with the option may_change (proto/config.proto).
std::vector<std::string> ConfigDifferences(const RunConfig& old_config,
                                           const RunConfig& new_config);

// Returns flags that keep the old end of the learning rates' decay, or "" if
// the end has not moved. Both configs are effective ones.
std::string DecayHint(const RunConfig& old_config, const RunConfig& new_config);

// Returns a warning if the numbers of workers differ, otherwise "".
std::string WorkersDifference(const RunConfig& old_config,
                              const RunConfig& new_config);

}  // namespace gandem
