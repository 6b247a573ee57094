// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/label_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(LabelFilesTest, DatasetJson) {
  ASSERT_OK_AND_ASSIGN(
      const ImageLabels labels,
      ParseDatasetJson(
          R"({"labels": [["a/1.png", 6], ["b.png", 0]], "x": 1})"));
  EXPECT_THAT(labels.by_name,
              ElementsAre(Pair("a/1.png", 6), Pair("b.png", 0)));
  for (const char* const none :
       {"{}", R"({"labels": null})", R"({"labels": []})"}) {
    EXPECT_THAT(ParseDatasetJson(none)->by_name, IsEmpty()) << none;
  }
  const std::pair<const char*, const char*> kBad[] = {
      {"", "no JSON object"},
      {"[]", "no JSON object"},
      {R"({"labels": 3})", "neither a list nor null"},
      {R"({"labels": [["a.png", 1], ["b.png"]]})", "labels[1]: expected"},
      {R"({"labels": [["a.png", 0.5]]})", "labels[0]: expected"},
      {R"({"labels": [["a.png", -1]]})", "whole number in [0, 1048575]"},
      {R"({"labels": [[1, 1]]})", "labels[0]: expected"}};
  for (const auto& [text, what] : kBad) {
    EXPECT_THAT(ParseDatasetJson(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)))
        << text;
  }
}

TEST(LabelFilesTest, LabelsCsv) {
  ASSERT_OK_AND_ASSIGN(const ImageLabels numbers,
                       ParseLabelsCsv("name,label\r\na.png,2\r\nb.jpg, 0\r\n"));
  EXPECT_THAT(numbers.by_name, ElementsAre(Pair("a.png", 2), Pair("b.jpg", 0)));
  EXPECT_THAT(numbers.class_names, IsEmpty());
  ASSERT_OK_AND_ASSIGN(
      const ImageLabels names,
      ParseLabelsCsv("a.png,dog\n\n\"x, y.png\",\"a \"\"cat\"\"\"\nb.png,dog"));
  EXPECT_THAT(names.by_name, ElementsAre(Pair("a.png", 1), Pair("b.png", 1),
                                         Pair("x, y.png", 0)));
  EXPECT_THAT(names.class_names, ElementsAre("a \"cat\"", "dog"));
  for (const char* const bad : {"a.png", "a.png,1,2", "a.png,\"1"}) {
    EXPECT_THAT(ParseLabelsCsv(bad),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("line 1: expected NAME,LABEL")))
        << bad;
  }
}

}  // namespace
}  // namespace gandem
