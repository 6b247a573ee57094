// SPDX-License-Identifier: Apache-2.0
//
// Arguments of `gandem profile`, `plan`, `simulate` and `trials`.
//
// Owner: the parser of the command line, which keeps pointers into it. Thread
// safety: one thread. Errors: CLI::ParseError.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control_plane/command_line/command_line.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

class PlanningArguments {
 public:
  // Adds the commands to `app`, which must outlive this object.
  explicit PlanningArguments(CLI::App& app);
  PlanningArguments(const PlanningArguments&) = delete;
  PlanningArguments& operator=(const PlanningArguments&) = delete;

  // Sets the arguments after --, which go to `gandem evaluate`.
  void SetEvaluateArguments(std::vector<std::string> arguments) {
    trials_.evaluate_arguments = std::move(arguments);
  }
  // Returns whether the parsed command accepts arguments after --.
  bool TakesEvaluateArguments() const;

  // Returns the parsed options, or nullopt if another command was given.
  std::optional<Command> Given() const;

 private:
  void AddProfile(CLI::App& app);
  void AddPlan(CLI::App& app);
  void AddSimulate(CLI::App& app);
  void AddTrials(CLI::App& app);

  CLI::App* profile_command_ = nullptr;
  CLI::App* plan_command_ = nullptr;
  CLI::App* simulate_command_ = nullptr;
  CLI::App* trials_command_ = nullptr;
  ProfileOptions profile_;
  PlanOptions plan_;
  SimulatePlanOptions simulate_;
  TrialsOptions trials_;
};

}  // namespace gandem
