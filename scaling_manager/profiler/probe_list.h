// SPDX-License-Identifier: Apache-2.0
//
// Questions of a profile, the most informative first, and the config that asks
// one of them. Each question has the batch, precision, layout and feedback of
// the recipe's role, except for the field that it varies.
// Owner: values. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

// One probe, or one probe of each role at the same time.
struct ProbeQuestion {
  std::vector<ProbeSettings> together;
  // Asked regardless of the budget, because a profile needs the answer.
  bool is_needed = false;
};

// Returns the questions. `recipe` must be valid; `cores` are those that this
// process may use. Skips settings that the recipe's networks, losses or
// penalties do not support.
std::vector<ProbeQuestion> ProbeList(const RunConfig& recipe, int cores);

// Returns the config of a run that answers the question: R = 1, lag 1, EXACT,
// one worker per role, both with the batch of `settings`. Learning rates are
// constant and nearly 0, so that values stay in range. `data`: the images.
RunConfig ProbeConfig(const RunConfig& recipe, const ProbeSettings& settings,
                      const DataConfig& data);

// Example: "generator, batch 64, 2 threads, FLOAT32, NCHW, SNAPSHOT".
std::string ToString(const ProbeSettings& settings);

// Example: "generator, batch 64, ...: 0.512 s a round (0.507 to 0.518, 14
// rounds), 812 MiB"; for a failed probe, its outcome and the reason.
std::string ProbeLine(const Probe& probe);

// Example: "exchange over a socket: 95 us and 1.4 GB/s".
std::string TransferLine(const TransferProfile& transfer);

}  // namespace gandem
