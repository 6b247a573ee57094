// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/extraction_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace gandem {
namespace {

using ::testing::ElementsAre;

TEST(ExtractionProgressTest, EstimatesTheTimeLeft) {
  std::vector<std::string> lines;
  ExtractionProgress progress(
      1000, [&](const std::string& line) { lines.push_back(line); });
  const absl::Time start = absl::UnixEpoch();
  progress.Add(200, start);  // of an earlier job
  progress.Add(210, start + absl::Seconds(1));
  progress.Add(240, start + absl::Seconds(4));
  progress.Add(250, start + absl::Seconds(5));
  progress.Add(1000, start + absl::Seconds(5.5));
  EXPECT_THAT(
      lines, ElementsAre("features: 240/1000 images | 10 images/s | 1m16s left",
                         "features: 1000/1000 images | 145 images/s"));
}

TEST(ExtractionProgressTest, TheCallbackMayBeNull) {
  ExtractionProgress progress(2, nullptr);
  progress.Add(2, absl::UnixEpoch());
}

}  // namespace
}  // namespace gandem
