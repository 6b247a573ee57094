// SPDX-License-Identifier: Apache-2.0
//
// Options and checks that several commands share.
//
// Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "scaling_manager/planner_commands/plan_options.h"

namespace gandem {

// Accepts whole numbers from 1. CLI11's own checks print limits of a double.
CLI::Validator AtLeastOne();

inline constexpr char kRecipeHelp[] =
    "Recipe: a RunConfig as text proto (`gandem explain` lists the fields)";

void AddRepeated(CLI::App* command, const std::string& name,
                 const std::string& help, std::vector<std::string>& values);

inline constexpr char kSetsHelp[] =
    "Set a field of the recipe: path.to.field=value; repeat for each field";
void AddSets(CLI::App* command, const std::string& help,
             std::vector<std::string>& sets);

void AddData(CLI::App* command, std::string& data);

// Adds --candidate, which needs the option `plan` unless `plan` is null.
void AddCandidate(CLI::App* command, CLI::Option* plan, int& candidate);

// Adds --certificates and --insecure_network, which exclude each other.
void AddCertificates(CLI::App* command, std::string& certificates,
                     bool& insecure_network);

void AddPython(CLI::App* command, std::string& python);

void AddOwnNetworks(CLI::App* command, std::string& python,
                    bool& accept_changed_code);

// Part of the help of --metrics_listen and --metrics_port.
inline constexpr char kPrometheusHelp[] =
    "Prometheus, or anyone else who connects, reads metrics of the run "
    "(docs/how_to/monitoring.md)";

void AddLogFormat(CLI::App* command, std::string& format);

// Adds --devices, --hosts, --memory and --link.
void AddMachines(CLI::App* command, MachineOptions& machines);

}  // namespace gandem
