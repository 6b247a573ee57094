// SPDX-License-Identifier: Apache-2.0
#include "pipeline/trees/tree_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "pipeline/sources/image_sources.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::NamedBytes;
using ::gandem::testing::WriteTar;
using ::gandem::testing::WriteTree;
using ::gandem::testing::WriteZip;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Labels are found without reading the images.
class TreeLabelsTest : public ::testing::Test {
 protected:
  struct Found {
    std::vector<int64_t> labels;
    std::vector<std::string> class_names;
    std::string unused;
  };
  Found Open(const std::string& name) {
    const auto source = OpenSource(dir_ / name);
    EXPECT_OK(source);
    if (!source.ok()) return {};
    Found found = {.labels = {},
                   .class_names = (*source)->class_names(),
                   .unused = (*source)->info().unused_labels};
    for (int64_t i = 0; i < (*source)->size(); ++i) {
      found.labels.push_back((*source)->LabelOf(i));
    }
    return found;
  }
  Found OpenZip(const NamedBytes& files) {
    WriteZip(dir_ / "a.zip", files);
    return Open("a.zip");
  }
  Found OpenTar(const NamedBytes& files) {
    WriteTar(dir_ / "a.tar", files);
    return Open("a.tar");
  }
  // Returns the reason why the labels of two images are not used.
  std::string UnusedOf(const std::string& name, const std::string& bytes) {
    const Found found = OpenZip({{"0.png", ""}, {"1.png", ""}, {name, bytes}});
    EXPECT_THAT(found.labels, ElementsAre(kNoLabel, kNoLabel));
    EXPECT_THAT(found.class_names, IsEmpty());
    return found.unused;
  }

  gandem::testing::TempDir dir_;
};

// `tar cf x.tar .` writes such names.
TEST_F(TreeLabelsTest, NamesMayBeginWithADot) {
  for (const NamedBytes& labels :
       {NamedBytes{{"./labels.csv", "./0.png,5\n1.png,7\n"}},
        NamedBytes{
            {"./dataset.json", R"({"labels": [["0.png", 5], ["1.png", 7]]})"}},
        NamedBytes{{"./0.cls", "5"}, {"1.cls", "7"}}}) {
    NamedBytes files = {{"./0.png", ""}, {"1.png", ""}};
    files.insert(files.end(), labels.begin(), labels.end());
    EXPECT_THAT(OpenTar(files).labels, ElementsAre(5, 7));
    EXPECT_THAT(OpenZip(files).labels, ElementsAre(5, 7));
  }
  const NamedBytes classes = {{"./a/0.png", ""}, {"b/1.png", ""}};
  EXPECT_THAT(OpenTar(classes).class_names, ElementsAre("a", "b"));
  EXPECT_THAT(OpenZip(classes).class_names, ElementsAre("a", "b"));
}

TEST_F(TreeLabelsTest, WindowsNamesAreNormalized) {
  const Found classes =
      OpenZip({{"a\\", ""}, {"a\\0.png", ""}, {"b\\1.png", ""}});
  EXPECT_THAT(classes.class_names, ElementsAre("a", "b"));
  EXPECT_THAT(classes.labels, ElementsAre(0, 1));
  EXPECT_THAT(OpenZip({{"a\\0.png", ""},
                       {"b\\1.png", ""},
                       {"labels.csv", "a\\0.png,4\nb\\1.png,6\n"}})
                  .labels,
              ElementsAre(4, 6));
  // If other names contain '/', a '\' is an ordinary character.
  EXPECT_THAT(OpenZip({{"a/0\\1.png", ""}, {"b/1.png", ""}}).class_names,
              ElementsAre("a", "b"));
}

// Both shards have the names 0 and 1.
TEST_F(TreeLabelsTest, ShardsHaveTheLabelsOfTheirOwnImages) {
  const std::string shards = "s-{0..1}.tar";
  const NamedBytes images = {{"0.png", ""}, {"1.png", ""}};
  const auto with = [&](NamedBytes labels) {
    labels.insert(labels.end(), images.begin(), images.end());
    return labels;
  };
  WriteTar(dir_ / "s-0.tar", with({{"0.cls", "1"}, {"1.cls", "2"}}));
  WriteTar(dir_ / "s-1.tar", with({{"0.cls", "3"}}));
  const Found partial = Open(shards);
  EXPECT_THAT(partial.labels, ElementsAre(-1, -1, -1, -1));
  EXPECT_THAT(partial.unused,
              HasSubstr("s-1.tar:1.png has no file .cls beside it"));
  WriteTar(dir_ / "s-1.tar", with({{"0.cls", "3"}, {"1.cls", "4"}}));
  EXPECT_THAT(Open(shards).labels, ElementsAre(1, 2, 3, 4));

  const auto csv = [](const char* zero, const char* one) {
    return NamedBytes{
        {"labels.csv", absl::StrCat("0.png,", zero, "\n1.png,", one, "\n")}};
  };
  WriteTar(dir_ / "s-0.tar", with(csv("cat", "ant")));
  WriteTar(dir_ / "s-1.tar", images);
  EXPECT_THAT(Open(shards).unused,
              HasSubstr("s-1.tar:0.png has no labels.csv"));
  WriteTar(dir_ / "s-1.tar", with(csv("dog", "cat")));
  const Found both = Open(shards);
  EXPECT_THAT(both.class_names, ElementsAre("ant", "cat", "dog"));
  EXPECT_THAT(both.labels, ElementsAre(1, 0, 2, 1));
}

// By WebDataset's rule every sample of this video is named "v". All labels
// would be the first one, and each search would visit all names.
TEST_F(TreeLabelsTest, ADotInANameIsNotTheEndOfTheKey) {
  constexpr int kFrames = 10'000;
  NamedBytes files;
  for (int i = 0; i < kFrames; ++i) {
    const std::string name = absl::StrFormat("v.%05d", i);
    files.emplace_back(name + ".png", "");
    files.emplace_back(name + ".cls", absl::StrCat(i % 7));
  }
  const Found found = OpenTar(files);
  ASSERT_EQ(found.labels.size(), kFrames);
  for (int i = 0; i < kFrames; ++i) ASSERT_EQ(found.labels[i], i % 7) << i;
  files.pop_back();
  EXPECT_THAT(OpenTar(files).unused, HasSubstr("v.09999.png has no file .cls"));
  EXPECT_THAT(
      OpenTar({{"v.0.png", ""}, {"v.1.png", ""}, {"v.cls", "3"}}).labels,
      ElementsAre(3, 3));
}

TEST_F(TreeLabelsTest, FilesOfASampleMayBeInterleavedWithAFolder) {
  EXPECT_THAT(OpenTar({{"a.cls", "1"},
                       {"a.d/x.png", ""},
                       {"a.d/x.cls", "2"},
                       {"a.png", ""}})
                  .labels,
              ElementsAre(2, 1));
}

TEST_F(TreeLabelsTest, FieldsOfWebDatasetsJsonAreRead) {
  const Found names = OpenTar({{"0.jpg", ""},
                               {"0.json", R"({"label": "dog"})"},
                               {"1.jpg", ""},
                               {"1.json", R"({"label": "cat", "x": 1})"}});
  EXPECT_THAT(names.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(names.labels, ElementsAre(1, 0));
  const Found captions = OpenTar(
      {{"0.jpg", ""}, {"0.json", R"({"caption": "a dog"})"}, {"1.jpg", ""}});
  EXPECT_THAT(captions.labels, ElementsAre(kNoLabel, kNoLabel));
  EXPECT_EQ(captions.unused, "");
  EXPECT_THAT(OpenTar({{"0.jpg", ""},
                       {"0.json", R"({"label": 1})"},
                       {"1.jpg", ""},
                       {"1.json", "{}"}})
                  .unused,
              HasSubstr("a.tar:1.json: it has no label"));
}

TEST_F(TreeLabelsTest, MetadataOfHuggingFacesImagefolderIsRead) {
  const NamedBytes images = {{"t/0.png", ""}, {"t/b/1.png", ""}};
  WriteTree(dir_ / "csv", images);
  WriteTree(dir_ / "csv",
            {{"t/metadata.csv", "file_name,label\n0.png,dog\nb/1.png,cat\n"}});
  const Found csv = Open("csv");
  EXPECT_THAT(csv.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(csv.labels, ElementsAre(1, 0));
  WriteTree(dir_ / "json", images);
  WriteTree(dir_ / "json",
            {{"metadata.jsonl",
              "{\"file_name\": \"t/0.png\", \"label\": 4}\n"
              "{\"file_name\": \"t/b/1.png\", \"label\": 6}\n"}});
  EXPECT_THAT(Open("json").labels, ElementsAre(4, 6));
  // Captions contain no labels, so those of the folders are kept.
  WriteTree(dir_ / "text", {{"a/0.png", ""},
                            {"b/0.png", ""},
                            {"metadata.csv", "file_name,text\na/0.png,x\n"}});
  EXPECT_THAT(Open("text").class_names, ElementsAre("a", "b"));
}

TEST_F(TreeLabelsTest, InvalidLabelsAreNotUsed) {
  EXPECT_THAT(UnusedOf("labels.csv", "id,breed\n0,collie\n1,pug\n"),
              HasSubstr("a.zip:labels.csv has no label for '0.png'"));
  EXPECT_THAT(UnusedOf("labels.csv", "0.png,1,2\n"),
              HasSubstr("a.zip:labels.csv: line 1: expected NAME,LABEL"));
  EXPECT_THAT(UnusedOf("labels.csv", "0.png,1\n"),
              HasSubstr("has no label for '1.png': give every image one"));
  EXPECT_THAT(UnusedOf("dataset.json", R"({"labels": [["0.png", [0.1]]]})"),
              HasSubstr("a.zip:dataset.json: labels[0]: expected"));
  EXPECT_THAT(UnusedOf("metadata.jsonl", "{\"label\": 1}"),
              HasSubstr("no file_name"));
  EXPECT_THAT(UnusedOf("0.cls", "1"), HasSubstr("1.png has no file .cls"));
  EXPECT_THAT(UnusedOf("0.cls", "dog"),
              AllOf(HasSubstr("a.zip:0.cls"), HasSubstr("whole number")));
}

}  // namespace
}  // namespace gandem
