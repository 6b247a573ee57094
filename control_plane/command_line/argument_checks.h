// SPDX-License-Identifier: Apache-2.0
//
// What several commands' arguments have in common.
//
// Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scaling_manager/planner_commands/plan_options.h"

namespace gandem {

// CLI11's own checks name the limits of a double.
CLI::Validator AtLeastOne();

// --set, again for each field.
void AddSets(CLI::App* command, const std::string& help,
             std::vector<std::string>& sets);

// --python: see WorkerProgram.
void AddPython(CLI::App* command, std::string& python);

// --python and --accept_changed_code.
void AddOwnNetworks(CLI::App* command, std::string& python,
                    bool& accept_changed_code);

// --metrics_listen, of the process that coordinates.
void AddMetricsListen(CLI::App* command, std::string& listen);

// --metrics_port: the same where a cluster chooses the host, with what `help`
// says of the port.
CLI::Option* AddMetricsPort(CLI::App* command, const std::string& help,
                            std::optional<int>& port);

// --log_format, of all processes of a run.
void AddLogFormat(CLI::App* command, std::string& format);

// --devices, --hosts, --memory and --link.
void AddMachines(CLI::App* command, MachineOptions& machines);

}  // namespace gandem
