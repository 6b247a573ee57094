// SPDX-License-Identifier: Apache-2.0
//
// Whether a run may be resumed under a changed config.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "proto/config.pb.h"

namespace gandem {

// Lists differing fields, for example "generator.batch_size: 64, now 32", but
// not those with the option may_change (proto/config.proto).
std::vector<std::string> ConfigDifferences(const RunConfig& old_config,
                                           const RunConfig& new_config);

// Flags that keep the old decay of the learning rates, as advice to the user.
// Empty unless the decay would end at another round, mostly because `rounds`
// grew. Both configs are effective ones.
std::string DecayHint(const RunConfig& old_config, const RunConfig& new_config);

// Warns of a resume with other numbers of workers; empty if they are equal.
std::string WorkersDifference(const RunConfig& old_config,
                              const RunConfig& new_config);

}  // namespace gandem
