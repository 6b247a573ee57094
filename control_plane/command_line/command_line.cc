// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/files/nearest.h"
#include "common/process/exit_code.h"
#include "common/version.h"
#include "control_plane/command_line/argument_checks.h"
#include "control_plane/command_line/coordinate_arguments.h"
#include "control_plane/command_line/dataset_arguments.h"
#include "control_plane/command_line/doctor_arguments.h"
#include "control_plane/command_line/launch_arguments.h"
#include "control_plane/command_line/launch_kubernetes_arguments.h"
#include "control_plane/command_line/logs_arguments.h"
#include "control_plane/command_line/planning_arguments.h"
#include "control_plane/command_line/train_arguments.h"

namespace gandem {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  gandem train recipes/fashion_mnist_dcgan.textproto --run_dir runs/a\n"
    "  gandem status runs/a\n"
    "  gandem logs runs/a --follow\n"
    "  gandem report runs/a\n"
    "  gandem sample runs/a -n 64 -o grid.png\n"
    "  gandem evaluate runs/a --metric fid\n"
    "  gandem export runs/a -o generator.pt\n"
    "  gandem models sngan --summary\n"
    "  gandem explain schedule.lag\n";

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

constexpr char kExplainExamples[] =
    "Examples:\n"
    "  gandem explain                  lists all fields of a recipe\n"
    "  gandem explain schedule.lag\n";

// Commands whose arguments are evaluation_job's.
constexpr std::pair<const char*, const char*> kEvaluationCommands[] = {
    {"sample", "Make images with the generator of a run"},
    {"export", "Write a run's generator for PyTorch without gandem"},
    {"evaluate", "Judge a generator, or images, by FID and its like"},
    {"train-features",
     "Train a small classifier whose features stand in for an Inception's"},
    {"models", "List the networks with what they cost, or the layers of one"},
};

// All commands with the places that their arguments go to.
struct Parser {
  Parser() {
    app.footer(kExamples);
    app.set_version_flag("--version", absl::StrCat("gandem ", GandemVersion()));
    app.require_subcommand(1);
    train.emplace(app);
    coordinate.emplace(app);
    launch.emplace(app);
    launch_kubernetes.emplace(launch->command());
    AddStatus();
    logs.emplace(app);
    AddReport();
    AddCompare();
    AddWatch();
    doctor.emplace(app);
    dataset.emplace(app);
    planning.emplace(app);

    // ParseCommandLine hands their arguments on.
    for (const auto& [name, description] : kEvaluationCommands) {
      app.add_subcommand(name, description);
    }
    explain_command =
        app.add_subcommand("explain", "Describe a field of a recipe");
    explain_command->footer(kExplainExamples);
    explain_command->add_option("FIELD", explain.field,
                                "Path of the field, as in schedule.lag");
    RefuseEmptyValues(app);
  }

  void AddWatch() {
    watch_command = app.add_subcommand(
        "watch-eval", "Judge a run's checkpoints as they appear");
    watch_command->footer(kWatchExamples);
    watch_command->add_option("RUN_DIR", watch.run_dir, "Folder of the run")
        ->required();
    watch_command
        ->add_option("--every", watch.every,
                     "Judge one checkpoint in so many rounds [all]")
        ->check(AtLeastOne());
    watch_command->add_flag("--once", watch.once,
                            "Judge what there is, do not wait for more");
  }

  void AddStatus() {
    status_command =
        app.add_subcommand("status", "Show how far a run is, live or not");
    status_command->footer("Example:\n  gandem status runs/a\n");
    status_command->add_option("RUN_DIR", status.run_dir, "Folder of the run")
        ->required();
    status_command->add_option(
        "--certificates", status.certificates,
        "This host's own, where `gandem train` was given others");
    status_command->add_flag("--json", status.json, "Print JSON");
  }

  void AddReport() {
    report_command = app.add_subcommand(
        "report", "Show where the time of runs goes, and how they scale");
    report_command->footer(kReportExamples);
    report_command->add_option("RUN_DIR", report.run_dirs, "Folders of runs")
        ->required();
    CLI::Option* const json =
        report_command->add_flag("--json", report.json, "Print JSON");
    report_command
        ->add_option("--html", report.html,
                     "Write a page for a browser to this file: samples, "
                     "losses, quality, times, recipes")
        ->excludes(json);
  }

  void AddCompare() {
    compare_command = app.add_subcommand(
        "compare", "Tell which of several runs makes better images");
    compare_command->footer(kCompareExamples);
    compare_command->add_option("RUN_DIR", compare.run_dirs, "Folders of runs")
        ->required();
    compare_command->add_option(
        "--metric", compare.metric,
        "Figure to compare, by the beginning of its name [the Frechet "
        "distance]");
    compare_command
        ->add_option("--checkpoint", compare.step,
                     "Step to compare at [the newest that all were judged at]")
        ->check(CLI::NonNegativeNumber);
    compare_command->add_flag("--json", compare.json, "Print JSON");
  }

  // After parsing. Throws CLI::ParseError where arguments do not go together.
  Command Given() const {
    if (const auto given = train->Given()) return *given;
    if (const auto given = coordinate->Given()) return *given;
    if (const auto given = launch->Given()) return *given;
    if (const auto given = logs->Given()) return *given;
    if (const auto given = doctor->Given()) return *given;
    if (const auto given = dataset->Given()) return *given;
    if (const auto given = planning->Given()) return *given;
    if (const auto given = launch_kubernetes->Given()) return *given;
    if (status_command->parsed()) return status;
    if (report_command->parsed()) return report;
    if (compare_command->parsed()) return compare;
    if (watch_command->parsed()) return watch;
    return explain;
  }

  CLI::App app{
      "Trains GANs with the generator and the discriminator as "
      "separate processes.",
      "gandem"};
  CLI::App* status_command = nullptr;
  CLI::App* report_command = nullptr;
  CLI::App* compare_command = nullptr;
  CLI::App* watch_command = nullptr;
  CLI::App* explain_command = nullptr;
  // In the order of the help, and so after some of the above are there.
  std::optional<TrainArguments> train;
  std::optional<CoordinateArguments> coordinate;
  std::optional<LaunchArguments> launch;
  std::optional<LogsArguments> logs;
  std::optional<DoctorArguments> doctor;
  std::optional<DatasetArguments> dataset;
  std::optional<PlanningArguments> planning;
  std::optional<LaunchKubernetesArguments> launch_kubernetes;
  StatusOptions status;
  ReportOptions report;
  CompareOptions compare;
  WatchOptions watch;
  ExplainOptions explain;
};

// Empty: it is one, or a flag.
std::string WhyNoCommand(const CLI::App& app, const std::string& name) {
  if (absl::StartsWith(name, "-")) return "";
  std::vector<std::string> commands;
  for (const CLI::App* const command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    if (commands.back() == name) return "";
  }
  const std::optional<std::string> nearest = Nearest(name, commands);
  return absl::StrCat(
      "gandem: there is no command '", name, "'; ",
      nearest.has_value()
          ? absl::StrCat("did you mean '", *nearest, "'?")
          : absl::StrCat("there are ", absl::StrJoin(commands, ", ")),
      "\n");
}

}  // namespace

Command ParseCommandLine(int argc, const char* const* argv, std::ostream& out,
                         std::ostream& err) {
  for (const auto& [name, description] : kEvaluationCommands) {
    if (argc >= 2 && absl::string_view(argv[1]) == name) {
      return EvaluationOptions{{argv + 1, argv + argc}};
    }
  }
  const char* const* const end = argv + argc;
  const char* const* const split =
      std::find(argv, end, absl::string_view("--"));
  Parser parser;
  if (split != end) {
    parser.watch.evaluate_arguments.assign(split + 1, end);
    parser.planning->SetEvaluateArguments(parser.watch.evaluate_arguments);
  }
  const std::string no_command =
      argc >= 2 ? WhyNoCommand(parser.app, argv[1]) : "";
  if (!no_command.empty()) {
    err << no_command;
    return NoCommand{kExitUsage};
  }
  try {
    parser.app.parse(static_cast<int>(split - argv), argv);
    if (split != end && !parser.watch_command->parsed() &&
        !parser.planning->TakesEvaluateArguments()) {
      throw CLI::ArgumentMismatch(
          "only watch-eval and trials take arguments behind --");
    }
    return parser.Given();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      const std::string no_flag = WhyNoFlagOf(parser.app, {argv, split});
      if (!no_flag.empty()) {
        err << no_flag << "\n";
        return NoCommand{kExitUsage};
      }
    }
    const int code = parser.app.exit(error, out, err);
    return NoCommand{code == 0 ? kExitOk : kExitUsage};
  }
}

std::vector<std::string> AllFlags() {
  Parser parser;
  std::vector<std::string> flags;
  const auto add = [&flags](const CLI::App& app, const std::string& prefix) {
    for (const CLI::Option* const option : app.get_options()) {
      flags.push_back(prefix + option->get_name(true, true));
    }
  };
  add(parser.app, "gandem ");
  for (const CLI::App* const command : parser.app.get_subcommands({})) {
    add(*command, command->get_name() + " ");
    for (const CLI::App* const part : command->get_subcommands({})) {
      add(*part, absl::StrCat(command->get_name(), " ", part->get_name(), " "));
    }
  }
  return flags;
}

}  // namespace gandem
