// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/command_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "evaluation/commands/train_features_command.h"

namespace gandem {
namespace {

using ::testing::HasSubstr;

std::string WhyRefused(const std::string& arguments) {
  CLI::App app;
  int exit_code = 0;
  AddSampleCommand(app, exit_code);
  AddTrainFeaturesCommand(app, exit_code);
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(CommandLinesTest, ASeedIsAWholeNumberFromZeroOn) {
  for (const char* const command : {"sample run", "train-features"}) {
    for (const char* const seed : {"-1", "1.5", "18446744073709551616", "x"}) {
      EXPECT_THAT(WhyRefused(std::string(command) + " --seed " + seed),
                  HasSubstr("a whole number from 0 on"))
          << command << " " << seed;
    }
  }
}

}  // namespace
}  // namespace gandem
