// SPDX-License-Identifier: Apache-2.0
#include "control_plane/reports/report_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "control_plane/reports/report_format.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;

TEST(ReportCommandTest, AFolderWithoutARunIsAnError) {
  const TempDir dir;
  std::ostringstream out;
  EXPECT_THAT(RunReport({.run_dirs = {dir.path()}}, out),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("holds no run")));
}

TEST(ReportCommandTest, ABuildWithoutTheExtraNamesTheExtra) {
  EXPECT_THAT(HtmlFormatOf({}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "--html: this gandem was built without the extra "
                       "`report_page`; run scripts/build.sh"));
}

}  // namespace
}  // namespace gandem
