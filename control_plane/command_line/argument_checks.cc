// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/argument_checks.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

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

void AddSets(CLI::App* command, const std::string& help,
             std::vector<std::string>& sets) {
  command->add_option("--set", sets, help)->take_all()->allow_extra_args(false);
}

void AddPython(CLI::App* command, std::string& python) {
  command->add_option("--python", python,
                      "Interpreter with torch, wherever workers are, for "
                      "networks of your own [that of $VIRTUAL_ENV]");
}

void AddOwnNetworks(CLI::App* command, std::string& python,
                    bool& accept_changed_code) {
  AddPython(command, python);
  command->add_flag("--accept_changed_code", accept_changed_code,
                    "Go on with a network whose Python file has been changed");
}

void AddMetricsListen(CLI::App* command, std::string& listen) {
  command->add_option(
      "--metrics_listen", listen,
      "HOST:PORT where Prometheus reads the run, as in 127.0.0.1:9400; port 0: "
      "any. Whoever connects may read (docs/watching.md)");
}

CLI::Option* AddMetricsPort(CLI::App* command, const std::string& help,
                            std::optional<int>& port) {
  return command->add_option(
      "--metrics_port", port,
      absl::StrCat("Port where Prometheus reads the run, ", help,
                   ". Whoever connects may read (docs/watching.md)"));
}

void AddLogFormat(CLI::App* command, std::string& format) {
  command
      ->add_option("--log_format", format,
                   "Of all processes: text, or json: an object a line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

void AddMachines(CLI::App* command, MachineOptions& machines) {
  command
      ->add_option("--devices", machines.devices,
                   "Plan for so many cores, or GPUs [all of this machine]")
      ->check(AtLeastOne());
  command->add_option("--hosts", machines.hosts,
                      "Plan for the hosts in this file (docs/planning.md)");
  command->add_option("--memory", machines.memory,
                      "Of each host, or of each GPU, as in 40GiB");
  command->add_option("--link", machines.link,
                      "Between hosts, as in 25Gbit or 25Gbit,20ms; without "
                      "--hosts each device is a host of its own");
}

}  // namespace gandem
