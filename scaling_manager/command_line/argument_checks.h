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

// --set, again for each field.
void AddSets(CLI::App* command, const std::string& help,
             std::vector<std::string>& sets);

// --python: see WorkerProgram.
void AddPython(CLI::App* command, std::string& python);

// --python and --accept_changed_code.
void AddOwnNetworks(CLI::App* command, std::string& python,
                    bool& accept_changed_code);

// --devices, --hosts, --memory and --link.
void AddMachines(CLI::App* command, MachineOptions& machines);

}  // namespace gandem
