// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/files/nearest.h"
#include "common/process/exit_code.h"
#include "common/process/wrapped_help.h"
#include "control_plane/command_line/build_info.h"
#include "control_plane/command_line/command_arguments.h"
#include "control_plane/command_line/dataset_arguments.h"
#include "control_plane/command_line/planning_arguments.h"

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

// Commands whose arguments evaluation_job parses.
constexpr std::pair<const char*, const char*> kEvaluationCommands[] = {
    {"sample", "Generate images with the generator of a run"},
    {"export",
     "Export the generator of a run for use in PyTorch without gandem"},
    {"evaluate",
     "Estimate FID and related metrics of a generator or of images"},
    {"train-features",
     "Train a small classifier whose features replace Inception's in metrics"},
    {"models", "List the networks and their costs, or the layers of one"},
};

// All commands, in the order of the help, and the structs for their options.
struct Parser {
  Parser() {
    app.formatter(std::make_shared<WrappedHelp>());
    app.footer(kExamples);
    app.set_version_flag("--version", BuildInfo());
    app.require_subcommand(1);
    Add(app, AddTrain);
    Add(app, AddCoordinate);
    CLI::App* const launch = AddLaunch(app);
    Add(*launch, AddLaunchSlurm);
    Add(*launch, AddLaunchKubernetes);
    Add(app, AddStatus);
    Add(app, AddLogs);
    Add(app, AddReport);
    Add(app, AddCompare);
    Add(app, AddWatch);
    Add(app, AddDoctor);
    dataset.emplace(app);
    planning.emplace(app);
    // ParseCommandLine forwards the arguments of these commands.
    for (const auto& [name, description] : kEvaluationCommands) {
      app.add_subcommand(name, description);
    }
    Add(app, AddExplain);
    RefuseEmptyValues(app);
  }

  template <typename Options>
  void Add(CLI::App& to, CLI::App* (*add)(CLI::App&, Options&)) {
    const auto options = std::make_shared<Options>();
    commands.emplace_back(add(to, *options),
                          [options] { return Command(*options); });
  }

  // Returns the parsed command. Throws CLI::ParseError for a conflict.
  Command Given() const {
    if (const auto given = dataset->Given()) return *given;
    if (const auto given = planning->Given()) return *given;
    const auto given = std::ranges::find_if(
        commands, [](const auto& command) { return command.first->parsed(); });
    return given->second();  // app requires a subcommand
  }

  CLI::App app{
      "Trains GANs with the generator and the discriminator as "
      "separate processes.",
      "gandem"};
  std::vector<std::pair<CLI::App*, std::function<Command()>>> commands;
  // The order of creation is the order of the help.
  std::optional<DatasetArguments> dataset;
  std::optional<PlanningArguments> planning;
};

// Returns a message for an unknown command, or "" for a command or a flag.
std::string WhyNoCommand(const CLI::App& app, const std::string& name) {
  if (absl::StartsWith(name, "-")) return "";
  std::vector<std::string> commands;
  for (const CLI::App* const command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    if (commands.back() == name) return "";
  }
  const std::string guess = DidYouMean(name, commands);
  return absl::StrCat(
      "gandem: there is no command '", name, "'; ",
      guess.empty() ? absl::StrCat("there are ", absl::StrJoin(commands, ", "))
                    : guess,
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
  const std::vector<std::string> behind(split == end ? end : split + 1, end);
  parser.planning->SetEvaluateArguments(behind);
  const std::string no_command =
      argc >= 2 ? WhyNoCommand(parser.app, argv[1]) : "";
  if (!no_command.empty()) {
    err << no_command;
    return NoCommand{kExitUsage};
  }
  try {
    parser.app.parse(static_cast<int>(split - argv), argv);
    Command given = parser.Given();
    if (auto* const watch = std::get_if<WatchOptions>(&given)) {
      watch->evaluate_arguments = behind;
    } else if (split != end && !parser.planning->TakesEvaluateArguments()) {
      throw CLI::ArgumentMismatch(
          "only watch-eval and trials take arguments behind --");
    }
    return given;
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
