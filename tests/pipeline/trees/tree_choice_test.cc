// SPDX-License-Identifier: Apache-2.0
#include "pipeline/trees/tree_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/sources/image_sources.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::NamedBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteTar;
using ::gandem::testing::WriteTree;
using ::gandem::testing::WriteZip;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

class TreeChoiceTest : public ::testing::Test {
 protected:
  using Opened = absl::StatusOr<std::unique_ptr<ImageStore>>;

  // Opens a tar with images of these names.
  Opened OpenTar(const std::vector<std::string>& names,
                 const std::string& member = "") {
    NamedBytes files;
    for (const std::string& name : names) files.emplace_back(name, "");
    WriteTar(dir_ / "a.tar", files);
    return OpenSource(dir_ / "a.tar", {.member = member});
  }
  static std::vector<std::string> Names(const Opened& source) {
    std::vector<std::string> names;
    EXPECT_OK(source);
    for (int64_t i = 0; source.ok() && i < (*source)->size(); ++i) {
      names.push_back((*source)->KeyOf(i));
    }
    return names;
  }

  gandem::testing::TempDir dir_;
};

TEST_F(TreeChoiceTest, TheTrainSplitIsTaken) {
  const NamedBytes files = {{"d/train/cat/0.png", ""},
                            {"d/train/dog/1.png", ""},
                            {"d/val/cat/2.png", ""},
                            {"d/test/dog/3.png", ""}};
  WriteTree(dir_ / "folder", files);
  WriteZip(dir_ / "a.zip", files);
  WriteTar(dir_ / "a.tar", files);
  for (const auto& [name, kind] :
       {std::pair("folder", "a folder"), std::pair("a.zip", "a zip"),
        std::pair("a.tar", "a tar")}) {
    const Opened source = OpenSource(dir_ / name);
    EXPECT_THAT(Names(source),
                ElementsAre("d/train/cat/0.png", "d/train/dog/1.png"));
    EXPECT_THAT((*source)->class_names(), ElementsAre("cat", "dog"));
    EXPECT_EQ((*source)->kind(),
              absl::StrCat(kind, " of images of the split train (there are ",
                           "also test, val)"));
  }
  EXPECT_THAT(Names(OpenTar({"Train/0.png", "Test/1.png"})),
              ElementsAre("Train/0.png"));
}

TEST_F(TreeChoiceTest, FoldersThatAreNotSplitsAreAllRead) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"test/0.png", "train/1.png", "tram/2.png"},
        std::vector<std::string>{"0.png", "test/1.png", "train/2.png"},
        std::vector<std::string>{"train/a/0.png", "train/b/1.png"}}) {
    EXPECT_THAT(Names(OpenTar(names)), SizeIs(names.size())) << names[0];
  }
  EXPECT_THAT(OpenTar({"test/0.png", "val/1.png"}),
              StatusIs(kRefused, AllOf(HasSubstr("splits test, val"),
                                       HasSubstr("none is called train"))));
}

TEST_F(TreeChoiceTest, MasksAreNotMixedWithPhotos) {
  const std::vector<std::string> names = {"0.jpg", "0.mask.png", "0.cls",
                                          "1.png", "1.mask.png", "1.cls",
                                          "2.jpg", "2.cls"};
  const Opened photos = OpenTar(names);
  EXPECT_THAT(Names(photos), ElementsAre("0.jpg", "1.png", "2.jpg"));
  EXPECT_EQ((*photos)->kind(),
            "a tar of images, one of each sample (not used: 2 named "
            "*.mask.png; data.member chooses others)");
  const Opened masks = OpenTar(names, "mask.png");
  EXPECT_THAT(Names(masks), ElementsAre("0.mask.png", "1.mask.png"));
  EXPECT_EQ((*masks)->kind(), "a tar of images, those named *.mask.png");
  EXPECT_THAT(OpenTar(names, "depth.png"),
              StatusIs(kRefused, AllOf(HasSubstr("data.member depth.png"),
                                       HasSubstr("(jpg, mask.png, png)"))));
}

TEST_F(TreeChoiceTest, AMaskWithoutItsPhotoIsNotAPhoto) {
  EXPECT_THAT(Names(OpenTar({"0.jpg", "0.mask.png", "1.mask.png"})),
              ElementsAre("0.jpg"));
}

TEST_F(TreeChoiceTest, ShardsHaveSeparateSamples) {
  WriteTar(dir_ / "s-0.tar", {{"0.jpg", ""}});
  WriteTar(dir_ / "s-1.tar", {{"0.mask.png", ""}});
  EXPECT_THAT(Names(OpenSource(dir_ / "s-{0..1}.tar")), SizeIs(2));
}

TEST_F(TreeChoiceTest, AmbiguousSamplesRequireAChoice) {
  EXPECT_THAT(
      OpenTar({"0.photo.jpg", "0.mask.png", "1.photo.jpg", "1.mask.png"}),
      StatusIs(kRefused, AllOf(HasSubstr("samples of several images"),
                               HasSubstr("(mask.png, photo.jpg)"),
                               HasSubstr("--set data.member=mask.png"))));
  EXPECT_THAT(OpenTar({"0.jpg", "0.png", "1.jpg", "1.png"}),
              StatusIs(kRefused, HasSubstr("(jpg, png)")));
}

TEST_F(TreeChoiceTest, ImagesWithDotsInTheirNamesAreKept) {
  std::vector<std::string> words;
  for (char c = 'a'; c < 'a' + 20; ++c) {
    words.push_back(absl::StrCat("x.", std::string(1, c), ".png"));
  }
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"v.0.png", "v.1.png", "v.png"}, words,
        std::vector<std::string>{"0.jpg", "0.png", "1.png", "2.png"}}) {
    EXPECT_THAT(Names(OpenTar(names)), SizeIs(names.size())) << names[0];
  }
  WriteTree(dir_ / "folder", {{"0.jpg", ""}, {"0.mask.png", ""}});
  EXPECT_THAT(Names(OpenSource(dir_ / "folder")), SizeIs(2));
  EXPECT_THAT(Names(OpenSource(dir_ / "folder", {.member = "mask.png"})),
              ElementsAre("0.mask.png"));
}

}  // namespace
}  // namespace gandem
