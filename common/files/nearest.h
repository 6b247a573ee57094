// SPDX-License-Identifier: Apache-2.0
//
// Suggests the nearest known names for a misspelled one.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Returns the number of insertions, deletions, replacements and swaps of
// neighbors that turn `a` into `b` (optimal string alignment).
size_t EditDistance(absl::string_view a, absl::string_view b);

// Returns up to three candidates, nearest first, whose case-insensitive
// distance is at most a third of the name's length (and at least 1).
std::vector<std::string> Nearest(absl::string_view name,
                                 std::span<const std::string> candidates);

// Returns "did you mean 'lag' or 'log'?", or "" if no candidate is near.
std::string DidYouMean(absl::string_view name,
                       std::span<const std::string> candidates);

// Flag of a command line. Unknown flags are detected before parsing because a
// parser that counts arguments first would report a missing argument.
struct KnownFlag {
  std::string name;  // "--run_dir"
  bool takes_value = true;
};

// Returns "there is no flag --run-dir; did you mean '--run_dir'?" for the first
// unknown flag before "--", or "" if all flags are known.
std::string WhyNoFlag(std::span<const char* const> arguments,
                      std::span<const KnownFlag> flags);

// Checks the flags of a CLI::App, or of the subcommand that `arguments` start
// with; messages start with its name. `arguments[0]` is the program.
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

// Makes a CLI::App and its subcommands refuse empty values: an empty value
// usually comes from an unset shell variable.
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
