// SPDX-License-Identifier: Apache-2.0
#include "extras/report_page/sample_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SamplePicturesTest : public ::testing::Test {
 protected:
  std::string Write(int64_t round) {
    const PixelImage image = {
        .height = 1, .width = 1, .pixels = {static_cast<uint8_t>(round)}};
    const std::string path =
        absl::StrFormat("%s/round-%06d.png", dir_.path(), round);
    EXPECT_OK(WritePng(path, image));
    return *ReadFile(path);
  }
  const TempDir dir_;
};

TEST_F(SamplePicturesTest, ReturnsTheFilesByRound) {
  const std::string second = Write(200);
  const std::string first = Write(20);
  ASSERT_OK(WriteFile(dir_.path() + "/sample-9.png", "another picture"));
  ASSERT_OK(WriteFile(dir_.path() + "/round-000003.png", "GIF89a"));
  ASSERT_OK_AND_ASSIGN(const SamplePictures read,
                       ReadSamplePictures(dir_.path()));
  ASSERT_EQ(read.pictures.size(), 2);
  EXPECT_EQ(read.pictures[0].round, 20);
  EXPECT_EQ(read.pictures[0].data_uri,
            absl::StrCat("data:image/png;base64,", absl::Base64Escape(first)));
  EXPECT_EQ(read.pictures[1].data_uri,
            absl::StrCat("data:image/png;base64,", absl::Base64Escape(second)));
  ASSERT_EQ(read.notes.size(), 1);
  EXPECT_THAT(read.notes[0], HasSubstr("round-000003.png: not a PNG"));
}

TEST_F(SamplePicturesTest, ThinsManyPicturesAndSaysSo) {
  for (int64_t round = 1; round <= 60; ++round) Write(round);
  ASSERT_OK_AND_ASSIGN(const SamplePictures read,
                       ReadSamplePictures(dir_.path()));
  ASSERT_EQ(read.pictures.size(), kMaxPictures);
  EXPECT_EQ(read.pictures.front().round, 1);
  EXPECT_EQ(read.pictures.back().round, 60);
  EXPECT_THAT(read.notes, ElementsAre("24 of 60 grids of samples are shown"));
}

TEST_F(SamplePicturesTest, AMissingFolderHasNoPictures) {
  ASSERT_OK_AND_ASSIGN(const SamplePictures none,
                       ReadSamplePictures(dir_.path() + "/none"));
  EXPECT_THAT(none.pictures, IsEmpty());
}

TEST(EvenlyOfTest, HasBothEnds) {
  EXPECT_THAT(EvenlyOf(10, 4), ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(EvenlyOf(2, 4), ElementsAre(0, 1));
  EXPECT_THAT(EvenlyOf(5, 1), ElementsAre(4));
  EXPECT_THAT(EvenlyOf(0, 4), IsEmpty());
}

}  // namespace
}  // namespace gandem
