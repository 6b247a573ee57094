// SPDX-License-Identifier: Apache-2.0
//
// What several commands' arguments have in common.
//
// Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "scaling_manager/planner_commands/plan_options.h"

namespace gandem {

// CLI11's own checks name the limits of a double.
CLI::Validator AtLeastOne();

// An option that is given again for each value.
void AddRepeated(CLI::App* command, const std::string& name,
                 const std::string& help, std::vector<std::string>& values);

// --set, again for each field.
inline constexpr char kSetsHelp[] =
    "Changes a field of the recipe: path.to.field=value";
void AddSets(CLI::App* command, const std::string& help,
             std::vector<std::string>& sets);

// --data, in place of the recipe's.
void AddData(CLI::App* command, std::string& data);

// --candidate, which needs the option `plan`, unless it is null.
void AddCandidate(CLI::App* command, CLI::Option* plan, int& candidate);

// --certificates, or --insecure_network.
void AddCertificates(CLI::App* command, std::string& certificates,
                     bool& insecure_network);

// --python: see WorkerProgram.
void AddPython(CLI::App* command, std::string& python);

// --python and --accept_changed_code.
void AddOwnNetworks(CLI::App* command, std::string& python,
                    bool& accept_changed_code);

// The help of options for Prometheus begins so.
inline constexpr char kPrometheusHelp[] =
    "Prometheus reads the run, and whoever else connects "
    "(docs/how_to/monitoring.md)";

// --log_format, of all processes of a run.
void AddLogFormat(CLI::App* command, std::string& format);

// --devices, --hosts, --memory and --link.
void AddMachines(CLI::App* command, MachineOptions& machines);

}  // namespace gandem
