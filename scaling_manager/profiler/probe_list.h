// SPDX-License-Identifier: Apache-2.0
//
// The questions of a profile, the most informative first, and the config that
// asks one of them. Every one has a batch of the recipe's role, its precision,
// layout and feedback but for what it asks about.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

// One probe, or those of both roles at the same time.
struct ProbeQuestion {
  std::vector<ProbeSettings> together;
  // Without it there is no profile: it is asked whatever the budget.
  bool is_needed = false;
};

// `recipe` is valid, `cores` are those that this process may use. What the
// recipe's networks, losses or penalties cannot have is left out.
std::vector<ProbeQuestion> ProbeList(const RunConfig& recipe, int cores);

// A run that asks it: R = 1, lag 1, EXACT, one worker a role, both with the
// batch of `settings`, no schedule of learning rates and next to no learning,
// so that numbers stay what they are. `data` is where the images are.
RunConfig ProbeConfig(const RunConfig& recipe, const ProbeSettings& settings,
                      const DataConfig& data);

// "generator, batch 64, 2 threads, FLOAT32, NCHW, SNAPSHOT"
std::string ToString(const ProbeSettings& settings);

// "generator, batch 64, ...: 0.512 s a round (0.507 to 0.518, 14 rounds), 812
// MiB", or why there is none.
std::string ProbeLine(const Probe& probe);

// "exchange over a socket: 95 us and 1.4 GB/s"
std::string TransferLine(const TransferProfile& transfer);

}  // namespace gandem
