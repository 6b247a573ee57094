// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "control_plane/command_line/argument_checks.h"
#include "control_plane/command_line/command_arguments.h"

namespace gandem {
namespace {

constexpr char kLogsExamples[] =
    "Prints the log lines of `gandem train` and of all processes it has "
    "started, in\n"
    "order of time (docs/how_to/monitoring.md).\n"
    "\n"
    "Examples:\n"
    "  gandem logs runs/a --since 10m\n"
    "  gandem logs runs/a --follow --level warn\n"
    "  gandem logs runs/a --role discriminator --rank 1\n";

constexpr char kReportExamples[] =
    "Several runs are compared with the first one. S (strong scaling): the run "
    "has\n"
    "the same global batch; W (weak scaling): the same batch per worker.\n"
    "docs/fleets.md explains the columns.\n"
    "\n"
    "Examples:\n"
    "  gandem report runs/a\n"
    "  gandem report runs/one runs/two runs/four\n"
    "  gandem report runs/a runs/b --html report.html\n";

constexpr char kCompareExamples[] =
    "Only metrics that were computed in the same way are compared. Runs whose\n"
    "recipes differ only in the seed form one group. docs/evaluation.md "
    "explains the\n"
    "intervals.\n"
    "\n"
    "Examples:\n"
    "  gandem compare runs/a runs/b\n"
    "  gandem compare runs/a-1 runs/a-2 runs/a-3 runs/a-4 runs/b-*\n"
    "  gandem compare runs/a runs/b --metric KID --checkpoint 5000\n";

constexpr char kWatchExamples[] =
    "Arguments after -- go to `gandem evaluate`. The command ends when the "
    "last\n"
    "round of the run is evaluated; the same command resumes after an "
    "interruption.\n"
    "\n"
    "Examples:\n"
    "  gandem watch-eval runs/a\n"
    "  gandem watch-eval runs/a --every 1000 -- --metric fid,kid --num 10000\n";

constexpr char kDoctorExamples[] =
    "Prints one line per check: ok, warning or FAULT, and what to do about "
    "it.\n"
    "Exit codes: 0 no fault, 2 bad usage, 78 faults.\n"
    "\n"
    "Examples:\n"
    "  gandem doctor recipes/mlp_smoke.textproto --run_dir runs/a\n"
    "  gandem doctor --run_dir runs/a --listen beta:7100\n"
    "  gandem doctor plan.textproto --run_dir runs/a \\\n"
    "      --listen alpha:7100 --host beta:7100\n";

constexpr char kExplainExamples[] =
    "Examples:\n"
    "  gandem explain                 prints the reference of all fields\n"
    "  gandem explain schedule.lag    prints all about one field\n"
    "  gandem explain learning_rate   prints every field of this name\n";

CLI::App* AddOnRun(CLI::App& app, const char* name, const char* description,
                   const char* examples, std::string& run_dir) {
  CLI::App* const command = app.add_subcommand(name, description);
  command->footer(examples);
  command->add_option("RUN_DIR", run_dir, "Run directory")->required();
  return command;
}

CLI::App* AddOnRuns(CLI::App& app, const char* name, const char* description,
                    const char* examples, std::vector<std::string>& run_dirs) {
  CLI::App* const command = app.add_subcommand(name, description);
  command->footer(examples);
  command->add_option("RUN_DIR", run_dirs, "Run directories")->required();
  return command;
}

}  // namespace

CLI::App* AddStatus(CLI::App& app, StatusOptions& options) {
  CLI::App* const command = AddOnRun(
      app, "status", "Show the progress of a run, whether it is running or not",
      "Example:\n  gandem status runs/a\n", options.run_dir);
  command->add_option("--certificates", options.certificates,
                      "This host's certificates as FOLDER/NAME (default: the "
                      "ones given to `gandem train`)");
  command->add_flag("--json", options.json, "Print JSON");
  return command;
}

CLI::App* AddLogs(CLI::App& app, LogsOptions& options) {
  CLI::App* const command = AddOnRun(
      app, "logs", "Print the logs of all processes of a run in order of time",
      kLogsExamples, options.run_dir);
  command->add_flag(
      "--follow", options.follow,
      "Keep printing new lines until the run ends or you press Ctrl-C");
  command->add_option(
      "--since", options.since,
      "Skip lines older than an age or a time, for example 90s, 1h30m, "
      "2026-01-31T12:00:00Z or '2026-01-31 12:00:00' (default: print all)");
  command
      ->add_option("--role", options.role,
                   "Print only processes of this role (default: all)")
      ->check(
          CLI::IsMember({"gandem", "generator", "discriminator", "colocated"}));
  command
      ->add_option("--rank", options.rank,
                   "Print only workers of this rank (default: all)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--level", options.level, "Lowest level to print")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  return command;
}

CLI::App* AddReport(CLI::App& app, ReportOptions& options) {
  CLI::App* const command = AddOnRuns(
      app, "report", "Report how runs spend their time and how they scale",
      kReportExamples, options.run_dirs);
  CLI::Option* const json =
      command->add_flag("--json", options.json, "Print JSON");
  command
      ->add_option("--html", options.html,
                   "HTML file to write a page to: samples, losses, quality, "
                   "times, recipes")
      ->excludes(json);
  return command;
}

CLI::App* AddCompare(CLI::App& app, CompareOptions& options) {
  CLI::App* const command =
      AddOnRuns(app, "compare", "Compare the image quality of several runs",
                kCompareExamples, options.run_dirs);
  command->add_option("--metric", options.metric,
                      "Metric to compare, by the first letters of its name "
                      "(default: the Frechet distance)");
  command
      ->add_option("--checkpoint", options.step,
                   "Checkpoint to compare, by its step (default: the newest "
                   "one that is evaluated in all runs)")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options.json, "Print JSON");
  return command;
}

CLI::App* AddWatch(CLI::App& app, WatchOptions& options) {
  CLI::App* const command = AddOnRun(
      app, "watch-eval", "Evaluate the checkpoints of a run as they appear",
      kWatchExamples, options.run_dir);
  command
      ->add_option("--every", options.every,
                   "Evaluate the first checkpoint at or after every multiple "
                   "of this many rounds (default: 1, every checkpoint)")
      ->check(AtLeastOne());
  command->add_flag("--once", options.once,
                    "Evaluate the existing checkpoints and exit, without "
                    "waiting for new ones");
  return command;
}

CLI::App* AddDoctor(CLI::App& app, DoctorOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "doctor",
      "Check a recipe and the machines for problems before a run starts");
  command->footer(kDoctorExamples);
  command->add_option(
      "RECIPE", options.recipe,
      "Recipe, or plan file written by `gandem plan`, to check");
  command
      ->add_option("--run_dir", options.run_dir,
                   "Run directory; it is created if it does not exist")
      ->required();
  AddRepeated(command, "--host",
              "HOST:PORT of a `gandem doctor --listen` on another host; repeat "
              "for each host",
              options.hosts);
  command->add_option("--listen", options.listen,
                      "HOST:PORT to answer other hosts at; with --host, the "
                      "other hosts also connect back to it");
  command->add_option(
      "--token_file", options.token_file,
      "File with the run's token (default: RUN_DIR/state/token)");
  AddCertificates(command, options.certificates, options.insecure_network);
  return command;
}

CLI::App* AddExplain(CLI::App& app, ExplainOptions& options) {
  CLI::App* const command =
      app.add_subcommand("explain", "Describe the fields of a recipe");
  command->footer(kExplainExamples);
  command->add_option(
      "FIELD", options.field,
      "Path or name of a field, for example schedule.lag (default: all)");
  return command;
}

}  // namespace gandem
