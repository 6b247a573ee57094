// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/label_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

template <typename T>
T Value(const absl::StatusOr<T>& result) {
  EXPECT_OK(result);
  return result.value_or(T());
}

TEST(LabelFilesTest, DatasetJsonIsRead) {
  EXPECT_THAT(Value(ParseDatasetJson(
                  R"({"labels": [["a/1.png", 6], ["./b.png", 0]], "x": 1})")),

              ElementsAre(Pair("a/1.png", "6"), Pair("b.png", "0")));
  for (const char* const none :
       {"{}", R"({"labels": null})", R"({"labels": []})"}) {
    EXPECT_THAT(Value(ParseDatasetJson(none)), IsEmpty()) << none;
  }
  const std::pair<const char*, const char*> kBad[] = {
      {"", "no JSON object"},
      {"[]", "no JSON object"},
      {R"({"labels": 3})", "neither a list nor null"},
      {R"({"labels": [["a.png", 1], ["b.png"]]})", "labels[1]: expected"},
      {R"({"labels": [["a.png", 0.5]]})", "labels[0]: expected"},
      {R"({"labels": [["a.png", [0.5, 1]]]})", "labels[0]: expected"},
      {R"({"labels": [["a.png", -1]]})", "whole number in [0, 1048575]"},
      {R"({"labels": [[1, 1]]})", "labels[0]: expected"},
      {R"({"labels": [["a.png", 1], ["./a.png", 2]]})",
       "'./a.png' has the labels 1 and 2"}};
  for (const auto& [text, what] : kBad) {
    EXPECT_THAT(ParseDatasetJson(text), StatusIs(kInvalid, HasSubstr(what)))
        << text;
  }
}

TEST(LabelFilesTest, LabelsCsvIsRead) {
  EXPECT_THAT(Value(ParseLabelsCsv("name,label\r\na.png,2\r\nb.jpg, 0\r\n")),
              ElementsAre(Pair("a.png", "2"), Pair("b.jpg", "0")));
  EXPECT_THAT(Value(ParseLabelsCsv(
                  "a.png,dog\n\n\"x, y.png\",\"a \"\"cat\"\"\"\nb.png,dog")),
              ElementsAre(Pair("a.png", "dog"), Pair("b.png", "dog"),
                          Pair("x, y.png", "a \"cat\"")));
  EXPECT_THAT(Value(ParseLabelsCsv("a.png,1\nb.png,\n")),
              ElementsAre(Pair("a.png", "1")));
  for (const char* const bad : {"a.png", "a.png,1,2", "a.png,\"1"}) {
    EXPECT_THAT(ParseLabelsCsv(bad),
                StatusIs(kInvalid, HasSubstr("line 1: expected NAME,LABEL")))
        << bad;
  }
  EXPECT_THAT(ParseLabelsCsv("a.png,\"x\ny\"\nb.png"),
              StatusIs(kInvalid, HasSubstr("line 3: ")));
}

TEST(LabelFilesTest, AByteOrderMarkIsSkipped) {
  const std::string mark = "\xef\xbb\xbf";
  const auto is_one = ElementsAre(Pair("0.png", "1"));
  EXPECT_THAT(Value(ParseLabelsCsv(mark + "0.png,1\r\n")), is_one);
  EXPECT_THAT(Value(ParseDatasetJson(mark + R"({"labels": [["0.png", 1]]})")),
              is_one);
  EXPECT_THAT(Value(ParseMetadataCsv(mark + "file_name,label\n0.png,1\n")),
              is_one);
  EXPECT_THAT(
      Value(ParseMetadataJsonl(mark + R"({"file_name": "0.png", "label": 1})")),
      is_one);
  EXPECT_THAT(Value(ParseSampleJson(mark + R"({"label": 1})")), "1");
}

TEST(LabelFilesTest, MetadataCsvIsRead) {
  EXPECT_THAT(
      Value(ParseMetadataCsv("file_name,text,label\na/0.png,\"one,\ntwo\",cat\n"
                             "./1.png,,dog\n2.png,no label,\n")),
      ElementsAre(Pair("1.png", "dog"), Pair("a/0.png", "cat")));
  for (const char* const none : {"", "file_name,text\n0.png,x\n", "a\nb\n"}) {
    EXPECT_THAT(Value(ParseMetadataCsv(none)), IsEmpty()) << none;
  }
  EXPECT_THAT(ParseMetadataCsv("name,label\n0.png,1\n"),
              StatusIs(kInvalid, HasSubstr("no column file_name")));
  EXPECT_THAT(ParseMetadataCsv("file_name,label\n0.png,1,2\n"),
              StatusIs(kInvalid, HasSubstr("line 2: expected 2 fields")));
}

TEST(LabelFilesTest, MetadataJsonlIsRead) {
  EXPECT_THAT(
      Value(ParseMetadataJsonl("{\"file_name\": \"0.png\", \"label\": 3}\n\n"
                               "{\"file_name\": \"1.png\"}\r\n"
                               "{\"file_name\": \"2.png\", \"label\": \"a\"}")),
      ElementsAre(Pair("0.png", "3"), Pair("2.png", "a")));
  const std::pair<const char*, const char*> kBad[] = {
      {"{}\n[]", "line 2: expected a JSON object"},
      {R"({"label": 1})", "line 1: it has a label, and no file_name"},
      {R"({"file_name": "a", "label": [1]})", "line 1: expected a label"},
      {R"({"file_name": "a", "label": -1})", "line 1: expected a label"},
      {R"({"file_name": "a", "label": 0.5})", "line 1: expected a label"}};
  for (const auto& [text, what] : kBad) {
    EXPECT_THAT(ParseMetadataJsonl(text), StatusIs(kInvalid, HasSubstr(what)))
        << text;
  }
}

TEST(LabelFilesTest, SampleJsonIsRead) {
  EXPECT_THAT(Value(ParseSampleJson(R"({"label": "dog"})")), "dog");
  for (const char* const none : {"", "[3]", "{}", R"({"label": null})"}) {
    EXPECT_THAT(Value(ParseSampleJson(none)), "") << none;
  }
  EXPECT_THAT(ParseSampleJson(R"({"label": {}})"),
              StatusIs(kInvalid, HasSubstr("expected a label")));
}

TEST(LabelFilesTest, NumericClassesKeepTheirNumberAndNamesAreSorted) {
  const LabelNumbers numbers({"10", "2", "2"});
  EXPECT_EQ(numbers.NumberOf("10"), 10);
  EXPECT_THAT(numbers.class_names(), IsEmpty());
  const LabelNumbers names({"dog", "10", "cat", "dog"});
  EXPECT_THAT(names.class_names(), ElementsAre("10", "cat", "dog"));
  EXPECT_EQ(names.NumberOf("dog"), 2);
  const LabelNumbers folders({"2", "10"}, /*are_names=*/true);
  EXPECT_EQ(folders.NumberOf("2"), 1);
}

}  // namespace
}  // namespace gandem
