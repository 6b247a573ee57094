// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "control_plane/command_line/argument_checks.h"
#include "control_plane/command_line/command_arguments.h"

namespace gandem {
namespace {

constexpr char kLogsExamples[] =
    "Lines of all processes that gandem train has started, and its own, in "
    "the\n"
    "order of time. docs/how_to/monitoring.md explains.\n"
    "\n"
    "Examples:\n"
    "  gandem logs runs/a --since 10m\n"
    "  gandem logs runs/a --follow --level warn\n"
    "  gandem logs runs/a --role discriminator --rank 1 --json\n";

constexpr char kReportExamples[] =
    "Several runs are compared with the first one: S (strong scaling) has its\n"
    "global batch on other numbers of workers, W (weak scaling) its batch per\n"
    "worker. docs/fleets.md explains the columns.\n"
    "\n"
    "Examples:\n"
    "  gandem report runs/a\n"
    "  gandem report runs/one runs/two runs/four\n"
    "  gandem report runs/a runs/b --html report.html\n";

constexpr char kCompareExamples[] =
    "Figures are compared that were computed in the same way; runs whose "
    "recipes\n"
    "differ in nothing but the seed are one side. docs/evaluation.md explains\n"
    "the intervals.\n"
    "\n"
    "Examples:\n"
    "  gandem compare runs/a runs/b\n"
    "  gandem compare runs/a-1 runs/a-2 runs/a-3 runs/a-4 runs/b-*\n"
    "  gandem compare runs/a runs/b --metric KID --checkpoint 5000\n";

constexpr char kWatchExamples[] =
    "Arguments behind -- are those of `gandem evaluate`. Ends when the last\n"
    "round of the run is judged; started again it goes on.\n"
    "\n"
    "Examples:\n"
    "  gandem watch-eval runs/a\n"
    "  gandem watch-eval runs/a --every 1000 -- --metric fid,kid --num 10000\n";

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

constexpr char kExplainExamples[] =
    "Examples:\n"
    "  gandem explain                 prints the reference of all fields\n"
    "  gandem explain schedule.lag    prints all about one field\n"
    "  gandem explain learning_rate   prints every field of this name\n";

// A command on the folder of a run.
CLI::App* AddOnRun(CLI::App& app, const char* name, const char* description,
                   const char* examples, std::string& run_dir) {
  CLI::App* const command = app.add_subcommand(name, description);
  command->footer(examples);
  command->add_option("RUN_DIR", run_dir, "Folder of the run")->required();
  return command;
}

// The same on those of several.
CLI::App* AddOnRuns(CLI::App& app, const char* name, const char* description,
                    const char* examples, std::vector<std::string>& run_dirs) {
  CLI::App* const command = app.add_subcommand(name, description);
  command->footer(examples);
  command->add_option("RUN_DIR", run_dirs, "Folders of runs")->required();
  return command;
}

}  // namespace

CLI::App* AddStatus(CLI::App& app, StatusOptions& options) {
  CLI::App* const command =
      AddOnRun(app, "status", "Show how far a run is, live or not",
               "Example:\n  gandem status runs/a\n", options.run_dir);
  command->add_option("--certificates", options.certificates,
                      "This host's own certificates, where `gandem train` was "
                      "given others");
  command->add_flag("--json", options.json, "Print JSON");
  return command;
}

CLI::App* AddLogs(CLI::App& app, LogsOptions& options) {
  CLI::App* const command = AddOnRun(
      app, "logs", "Show what all processes of a run say, in the order of time",
      kLogsExamples, options.run_dir);
  command->add_flag("--follow", options.follow,
                    "Go on until the run ends, or Ctrl-C");
  command->add_option("--since", options.since,
                      "Leave out what is older: 90s, 1h30m, "
                      "2026-01-31T12:00:00Z or '2026-01-31 12:00:00' [all]");
  command
      ->add_option("--role", options.role, "Only processes of this role [all]")
      ->check(
          CLI::IsMember({"gandem", "generator", "discriminator", "colocated"}));
  command->add_option("--rank", options.rank, "Only workers of this rank [all]")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--level", options.level,
                   "Only lines of this level, and worse ones")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  command->add_flag("--json", options.json, "Print a JSON object a line");
  return command;
}

CLI::App* AddReport(CLI::App& app, ReportOptions& options) {
  CLI::App* const command = AddOnRuns(
      app, "report", "Show where the time of runs goes, and how they scale",
      kReportExamples, options.run_dirs);
  CLI::Option* const json =
      command->add_flag("--json", options.json, "Print JSON");
  command
      ->add_option("--html", options.html,
                   "Write a page for a browser to this file: samples, losses, "
                   "quality, times, recipes")
      ->excludes(json);
  return command;
}

CLI::App* AddCompare(CLI::App& app, CompareOptions& options) {
  CLI::App* const command =
      AddOnRuns(app, "compare", "Compare the image quality of several runs",
                kCompareExamples, options.run_dirs);
  command->add_option(
      "--metric", options.metric,
      "Figure to compare, by the beginning of its name [the Frechet "
      "distance]");
  command
      ->add_option("--checkpoint", options.step,
                   "Step to compare at [the newest that all were judged at]")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options.json, "Print JSON");
  return command;
}

CLI::App* AddWatch(CLI::App& app, WatchOptions& options) {
  CLI::App* const command =
      AddOnRun(app, "watch-eval", "Judge a run's checkpoints as they appear",
               kWatchExamples, options.run_dir);
  command
      ->add_option("--every", options.every,
                   "Judge one checkpoint in so many rounds [all]")
      ->check(AtLeastOne());
  command->add_flag("--once", options.once,
                    "Judge what there is, do not wait for more");
  return command;
}

CLI::App* AddDoctor(CLI::App& app, DoctorOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "doctor",
      "Check a recipe and the machines for problems before a run starts");
  command->footer(kDoctorExamples);
  command->add_option("RECIPE", options.recipe,
                      "Recipe, or plan of `gandem plan`, that is to be run");
  command
      ->add_option("--run_dir", options.run_dir,
                   "Folder of the run; made if there is none")
      ->required();
  AddRepeated(command, "--host",
              "HOST:PORT of a gandem doctor --listen on another host; again "
              "for each",
              options.hosts);
  command->add_option("--listen", options.listen,
                      "HOST:PORT to answer the others' at; with --host they "
                      "try the way back to it");
  command->add_option("--token_file", options.token_file,
                      "File with the run's token (default: "
                      "RUN_DIR/state/token)");
  AddCertificates(command, options.certificates, options.insecure_network);
  return command;
}

CLI::App* AddExplain(CLI::App& app, ExplainOptions& options) {
  CLI::App* const command =
      app.add_subcommand("explain", "Describe the fields of a recipe");
  command->footer(kExplainExamples);
  command->add_option("FIELD", options.field,
                      "Path or name of a field, for example schedule.lag (default: all)");
  return command;
}

}  // namespace gandem
