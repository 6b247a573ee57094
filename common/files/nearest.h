// SPDX-License-Identifier: Apache-2.0
//
// Finds what a user meant.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Insertions, deletions, replacements and swaps of neighbors that turn one into
// the other (optimal string alignment).
size_t EditDistance(absl::string_view a, absl::string_view b);

// At most three candidates whose distance, ignoring case, is at most a third of
// the name (and at least 1); the nearest first.
std::vector<std::string> Nearest(absl::string_view name,
                                 std::span<const std::string> candidates);

// "did you mean 'lag' or 'log'?"; empty if no candidate is near.
std::string DidYouMean(absl::string_view name,
                       std::span<const std::string> candidates);

// A flag of a command line, for suggestions. A parser that counts arguments
// first would report a missing argument instead of an unknown flag.
struct KnownFlag {
  std::string name;  // "--run_dir"
  bool takes_value = true;
};

// "there is no flag --run-dir; did you mean '--run_dir'?" of the first one.
// Empty: `flags` has them all. `arguments` end before "--".
std::string WhyNoFlag(std::span<const char* const> arguments,
                      std::span<const KnownFlag> flags);

// The same of a CLI::App, whose subcommands come first in `arguments`; with
// their names before it. `arguments[0]` is the program.
template <typename App>
std::string WhyNoFlagOf(const App& app,
                        std::span<const char* const> arguments) {
  const App* command = &app;
  std::string name = app.get_name();
  arguments = arguments.subspan(arguments.empty() ? 0 : 1);
  while (!arguments.empty()) {
    const auto named = command->get_subcommands(
        [&](const App* part) { return part->get_name() == arguments.front(); });
    if (named.empty()) break;
    command = named.front();
    absl::StrAppend(&name, " ", arguments.front());
    arguments = arguments.subspan(1);
  }
  std::vector<KnownFlag> flags;
  for (const auto* const option : command->get_options()) {
    for (const std::string& flag : option->get_lnames()) {
      flags.push_back({"--" + flag, option->get_items_expected_min() > 0});
    }
  }
  const std::string why = WhyNoFlag(arguments, flags);
  return why.empty() ? "" : absl::StrCat(name, ": ", why);
}

// Makes a CLI::App and its subcommands refuse "" as a value: that is a variable
// which somebody has forgotten to set, and no wish for the default.
template <typename App>
void RefuseEmptyValues(App& app) {
  for (auto* const option : app.get_options([](const auto*) { return true; })) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    option->check(
        [](const std::string& text) {
          return text.empty() ? "the value is empty: was a variable not set?"
                              : "";
        },
        /*description=*/"");
  }
  for (App* const command :
       app.get_subcommands([](const App*) { return true; })) {
    RefuseEmptyValues(*command);
  }
}

}  // namespace gandem
