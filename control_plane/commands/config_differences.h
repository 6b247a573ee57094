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

// Where two configs differ: "generator.batch_size: 64, now 32". Fields with the
// option may_change (proto/config.proto) may differ.
std::vector<std::string> ConfigDifferences(const RunConfig& old_config,
                                           const RunConfig& new_config);

// Both effective. Where the old one's learning rates decay to another round
// than the new one's, which is mostly one with more rounds: what to set; else
// empty.
std::string DecayHint(const RunConfig& old_config, const RunConfig& new_config);

// What a resume with other numbers of workers means; empty where they are the
// same.
std::string WorkersDifference(const RunConfig& old_config,
                              const RunConfig& new_config);

}  // namespace gandem
