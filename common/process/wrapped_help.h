// SPDX-License-Identifier: Apache-2.0
//
// Wraps the --help of a program at 100 columns, because CLI11 2.1 does not wrap
// descriptions of options.
//
//   app.formatter(std::make_shared<WrappedHelp>());  // before any subcommand
//
// Owner: the CLI::App; subcommands inherit it when they are added. Thread
// safety: immutable. Errors: none.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace gandem {

class WrappedHelp : public CLI::Formatter {
 public:
  static constexpr size_t kColumns = 100;

  std::string make_option_desc(const CLI::Option* option) const override {
    const size_t width = kColumns - get_column_width();
    std::string text;
    size_t column = 0;
    const std::string description = option->get_description();
    for (const absl::string_view word : absl::StrSplit(description, ' ')) {
      if (column > 0) {
        const bool fits = column + 1 + word.size() <= width;
        text += fits ? ' ' : '\n';
        column = fits ? column + 1 : 0;
      }
      absl::StrAppend(&text, word);
      column += word.size();
    }
    return text;
  }
};

}  // namespace gandem
