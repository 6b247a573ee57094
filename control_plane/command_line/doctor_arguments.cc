// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/doctor_arguments.h"

#include <CLI/CLI.hpp>

#include "common/security/credentials.h"

namespace gandem {
namespace {

constexpr char kDoctorExamples[] =
    "A line each: ok, warning or FAULT, and what to do about it. Exit codes: "
    "0\n"
    "no fault, 78 faults, 2 bad usage.\n"
    "\n"
    "Examples:\n"
    "  gandem doctor recipes/mlp_smoke.textproto --run_dir runs/a\n"
    "  gandem doctor --run_dir runs/a --listen beta:7100\n"
    "  gandem doctor plan.textproto --run_dir runs/a \\\n"
    "      --listen alpha:7100 --host beta:7100\n";

}  // namespace

DoctorArguments::DoctorArguments(CLI::App& app)
    : command_(*app.add_subcommand(
          "doctor", "Look for what would end a run later, before it starts")) {
  command_.footer(kDoctorExamples);
  command_.add_option("RECIPE", options_.recipe,
                      "What is to be run: a recipe, or a plan that `gandem "
                      "plan` has made, whose memory and time are looked at");
  command_
      .add_option("--run_dir", options_.run_dir,
                  "Folder of the run; made if there is none")
      ->required();
  command_
      .add_option("--host", options_.hosts,
                  "HOST:PORT of a gandem doctor --listen on another host; "
                  "again for each")
      ->take_all()
      ->allow_extra_args(false);
  command_.add_option("--listen", options_.listen,
                      "HOST:PORT to answer the others' at; with --host they "
                      "try the way back to it");
  command_.add_option("--token_file", options_.token_file,
                      "File with the run's token (default: "
                      "RUN_DIR/state/token)");
  CLI::Option* const certificates = command_.add_option(
      "--certificates", options_.certificates, kCertificatesHelp);
  command_
      .add_flag("--insecure_network", options_.insecure_network,
                kInsecureNetworkHelp)
      ->excludes(certificates);
}

std::optional<DoctorOptions> DoctorArguments::Given() const {
  if (!command_.parsed()) return std::nullopt;
  return options_;
}

}  // namespace gandem
