// SPDX-License-Identifier: Apache-2.0
//
// `gandem report`: where the time of a run went, or of several beside each
// other. Reads files only, so it works beside a training and after it.
//
// Owner: main(). Thread safety: the main thread.
#pragma once

#include <cstdio>

#include "scaling_manager/commands/command_line.h"

namespace gandem {

// Returns the exit code. The report goes to `out`, errors to standard error.
int RunReport(const ReportOptions& options, FILE* out);

}  // namespace gandem
