// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/simulate_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "common/files/file.h"
#include "tests/pipeline/control/pipelines.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::GoodLink;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TraceOf;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SimulateCommandTest : public ::testing::Test {
 protected:
  SimulateCommandTest() {
    options_.trace = dir_ / "good.trace";
    EXPECT_OK(WriteFile(options_.trace,
                        PipelineTraceText(TraceOf({GoodLink()}, 10))));
  }

  const gandem::testing::TempDir dir_;
  SimulateOptions options_;
  std::ostringstream out_;
};

TEST_F(SimulateCommandTest, PrintsATable) {
  ASSERT_OK(SimulatePipeline(options_, out_));
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("static: 16 fetches, 2 workers, 341 ahead"),
                    HasSubstr("hill climb (as tf.data)"),
                    HasSubstr("on-time rule (as xet-core)"),
                    HasSubstr("\ncontroller  "),
                    HasSubstr("nobody could wait for less than")));
}

TEST_F(SimulateCommandTest, PrintsJson) {
  options_.json = true;
  ASSERT_OK(SimulatePipeline(options_, out_));
  const nlohmann::json json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["others"].size(), 11);
  EXPECT_EQ(json["controller"]["stalled_seconds"], 0);
  EXPECT_EQ(json["least_stalled_seconds"], 0);
  EXPECT_GT(json["best_static"]["average_bytes"], 0);
}

TEST_F(SimulateCommandTest, WhatIsNoTraceIsNamed) {
  ASSERT_OK(WriteFile(options_.trace, "hello"));
  EXPECT_THAT(SimulatePipeline(options_, out_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("good.trace: the first line")));
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace gandem
