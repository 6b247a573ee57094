// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/argument_checks.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/security/credentials.h"

namespace gandem {

CLI::Validator AtLeastOne() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        int64_t number = 0;
        if (absl::SimpleAtoi(text, &number) && number >= 1) return "";
        return absl::StrCat("'", text, "' is not a whole number from 1 on");
      },
      "");
}

void AddRepeated(CLI::App* command, const std::string& name,
                 const std::string& help, std::vector<std::string>& values) {
  command->add_option(name, values, help)->take_all()->allow_extra_args(false);
}

void AddSets(CLI::App* command, const std::string& help,
             std::vector<std::string>& sets) {
  AddRepeated(command, "--set", help, sets);
}

void AddData(CLI::App* command, std::string& data) {
  command->add_option("--data", data,
                      "Images to train on in place of the recipe's: a local "
                      "path, http://, https:// or s3:// of a folder, zip, tar "
                      "shards, Parquet, CIFAR, IDX or npz (docs/data.md)");
}

void AddCandidate(CLI::App* command, CLI::Option* plan, int& candidate) {
  CLI::Option* const option =
      command
          ->add_option("--candidate", candidate,
                       "Candidate of the plan to run, 1 is the best")
          ->check(AtLeastOne())
          ->capture_default_str();
  if (plan != nullptr) option->needs(plan);
}

void AddCertificates(CLI::App* command, std::string& certificates,
                     bool& insecure_network) {
  CLI::Option* const option =
      command->add_option("--certificates", certificates, kCertificatesHelp);
  command
      ->add_flag("--insecure_network", insecure_network, kInsecureNetworkHelp)
      ->excludes(option);
}

void AddPython(CLI::App* command, std::string& python) {
  command->add_option(
      "--python", python,
      "Python interpreter that has torch, on every worker's host, for networks "
      "of your own (default: the one of $VIRTUAL_ENV)");
}

void AddOwnNetworks(CLI::App* command, std::string& python,
                    bool& accept_changed_code) {
  AddPython(command, python);
  command->add_flag(
      "--accept_changed_code", accept_changed_code,
      "Resume the run although the Python file of its network has changed");
}

void AddLogFormat(CLI::App* command, std::string& format) {
  command
      ->add_option("--log_format", format,
                   "Format of the logs of all processes: text, or json for one "
                   "JSON object per line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

void AddMachines(CLI::App* command, MachineOptions& machines) {
  command
      ->add_option(
          "--devices", machines.devices,
          "Number of cores or GPUs to plan for (default: all of this machine)")
      ->check(AtLeastOne());
  command->add_option(
      "--hosts", machines.hosts,
      "File that lists the hosts to plan for (docs/planning.md)");
  command->add_option("--memory", machines.memory,
                      "Memory limit per host (or per GPU), for example 40GiB");
  command->add_option(
      "--link", machines.link,
      "Bandwidth and delay between hosts, for example 25Gbit or 25Gbit,20ms; "
      "without --hosts every device counts as a host");
}

}  // namespace gandem
