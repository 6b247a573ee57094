// SPDX-License-Identifier: Apache-2.0
//
// Each function adds one command of `gandem` to `app`. Parsing fills `options`,
// which must outlive `app`.
//
// Thread safety: one thread. Errors: while parsing, CLI::ParseError.
#pragma once

#include "control_plane/command_line/command_line.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

CLI::App* AddTrain(CLI::App& app, TrainOptions& options);
CLI::App* AddCoordinate(CLI::App& app, TrainOptions& options);

CLI::App* AddLaunch(CLI::App& app);
CLI::App* AddLaunchSlurm(CLI::App& launch, LaunchSlurmOptions& options);
CLI::App* AddLaunchKubernetes(CLI::App& launch,
                              LaunchKubernetesOptions& options);

CLI::App* AddStatus(CLI::App& app, StatusOptions& options);
CLI::App* AddLogs(CLI::App& app, LogsOptions& options);
CLI::App* AddReport(CLI::App& app, ReportOptions& options);
CLI::App* AddCompare(CLI::App& app, CompareOptions& options);
CLI::App* AddWatch(CLI::App& app, WatchOptions& options);
CLI::App* AddDoctor(CLI::App& app, DoctorOptions& options);
CLI::App* AddExplain(CLI::App& app, ExplainOptions& options);

}  // namespace gandem
