// SPDX-License-Identifier: Apache-2.0
//
// The commands of `gandem` whose arguments are one options struct each: each
// function adds its command to `app`, with `options` as the place of what is
// given. CLI11 fills that in while it parses, so both outlive the parser.
//
// Thread safety: one thread. Errors: while parsing, CLI::ParseError.
#pragma once

#include "control_plane/command_line/command_line.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

// `gandem train`, and the same for workers on other hosts.
CLI::App* AddTrain(CLI::App& app, TrainOptions& options);
CLI::App* AddCoordinate(CLI::App& app, TrainOptions& options);

// `gandem launch` and its sub-commands, one for each kind of cluster.
CLI::App* AddLaunch(CLI::App& app);
CLI::App* AddLaunchSlurm(CLI::App& launch, LaunchSlurmOptions& options);
CLI::App* AddLaunchKubernetes(CLI::App& launch,
                              LaunchKubernetesOptions& options);

// Commands that inspect runs.
CLI::App* AddStatus(CLI::App& app, StatusOptions& options);
CLI::App* AddLogs(CLI::App& app, LogsOptions& options);
CLI::App* AddReport(CLI::App& app, ReportOptions& options);
CLI::App* AddCompare(CLI::App& app, CompareOptions& options);
CLI::App* AddWatch(CLI::App& app, WatchOptions& options);
CLI::App* AddDoctor(CLI::App& app, DoctorOptions& options);
CLI::App* AddExplain(CLI::App& app, ExplainOptions& options);

}  // namespace gandem
