// SPDX-License-Identifier: Apache-2.0
//
// `gandem simulate pipeline`: what a trainer would lose by waiting for images,
// with other settings and with the controller, on a link that was recorded.
//
// Owner: main(). Thread safety: one thread.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/status/status.h"
#include "control_plane/command_line/command_line.h"
#include "pipeline/control/comparison.h"

namespace gandem {

// Prints a table, or JSON.
//   errors of ReadPipelineTrace.
absl::Status SimulatePipeline(const SimulateOptions& options,
                              std::ostream& out);

// A line for each, the controller and the bound below the others.
std::string ComparisonText(const PipelineComparison& comparison);
std::string ComparisonJson(const PipelineComparison& comparison);

}  // namespace gandem
