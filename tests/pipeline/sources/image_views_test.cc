// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/image_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "common/files/file.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/sources/open_dataset.h"
#include "pipeline/sources/resolve_data.h"
#include "proto/config.pb.h"
#include "tests/pipeline/image_files.h"
#include "tests/pipeline/tensor_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::DescribeAsP;
using ::gandem::testing::FakeStore;
using ::gandem::testing::NamedBytes;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::NpyBytes;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::gandem::testing::WriteTar;
using ::gandem::testing::WriteTree;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A store of five images in units that begin at 0, 2 and 3.
class ThreeUnits : public FakeStore {
 public:
  ThreeUnits() : FakeStore(Images(), {.units = {0, 2, 3}}) {}

 private:
  static std::vector<PixelImage> Images() {
    std::vector<PixelImage> images;
    for (uint32_t i = 0; i < 5; ++i) images.push_back(NoiseImage(3, 2, 2, i));
    images[3].pixels.clear();  // undecodable
    return images;
  }
};

TEST(LeaveOutTest, RemainingImagesMoveUp) {
  const auto store = LeaveOut(std::make_unique<ThreeUnits>(), {1, 3});
  EXPECT_EQ(store->size(), 3);
  EXPECT_EQ(store->info().left_out, 2);
  EXPECT_EQ(store->NameOf(1), "fake 2");
  EXPECT_EQ(store->KeyOf(2), "image 4");
  EXPECT_EQ(store->LabelOf(2), 4);
  EXPECT_EQ(store->Read(2)->pixels, NoiseImage(3, 2, 2, 4));
  EXPECT_THAT(store->info().units, ElementsAre(0, 1, 2));
}

TEST(LeaveOutTest, AUnitWithoutImagesIsRemoved) {
  EXPECT_THAT(LeaveOut(std::make_unique<ThreeUnits>(), {2})->info().units,
              ElementsAre(0, 2));
  EXPECT_THAT(LeaveOut(std::make_unique<ThreeUnits>(), {0, 1})->info().units,
              ElementsAre(0, 1));
  EXPECT_THAT(LeaveOut(std::make_unique<ThreeUnits>(), {3, 4})->info().units,
              ElementsAre(0, 2));
}

// The excluded images may be unreadable.
TEST(LeaveOutTest, HashesCoverTheRemainingImages) {
  const auto hash = [](std::vector<int64_t> left_out) {
    return LeaveOut(std::make_unique<ThreeUnits>(), left_out)->ContentHash();
  };
  EXPECT_OK(hash({3}));
  EXPECT_NE(*hash({3}), *hash({1, 3}));
  EXPECT_EQ(*hash({3}), *hash({3}));
  EXPECT_THAT(hash({1}), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(FindImagesTest, EveryNameIsFound) {
  const ThreeUnits store;
  EXPECT_THAT(*FindImages(store, {"image 1", "image 4"}), ElementsAre(1, 4));
  EXPECT_THAT(FindImages(store, {"image 1", "image 7"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("called 'image 7', as 'image 0' is"),
                             HasSubstr("gandem dataset verify"))));
  EXPECT_THAT(
      FindImages(store,
                 {"image 0", "image 1", "image 2", "image 3", "image 4"}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("all 5 images")));
}

TEST(FindImagesTest, AmbiguousNamesAreRefused) {
  class OneName : public ThreeUnits {
   public:
    std::string KeyOf(int64_t) const override { return "train.parquet: row 5"; }
  };
  EXPECT_THAT(FindImages(OneName(), {"train.parquet: row 5"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the name of several images")));
}

TEST(FindImagesTest, NetworkErrorsAreNotFaultsOfAnImage) {
  EXPECT_TRUE(IsUnreadable(absl::DataLossError("cut off")));
  EXPECT_FALSE(IsUnreadable(NotOfContent(absl::DataLossError("changed"))));
  EXPECT_FALSE(IsUnreadable(
      Annotate(NotOfContent(absl::InvalidArgumentError("451")), "a.tar")));
  EXPECT_FALSE(IsUnreadable(absl::UnavailableError("no server")));
  EXPECT_OK(NotOfContent(absl::OkStatus()));
}

// Tests of data.exclude in a config.
class ExcludeTest : public ::testing::Test {
 protected:
  ExcludeTest() {
    for (uint32_t i = 0; i < 6; ++i) {
      files_.emplace_back(absl::StrCat(i < 3 ? "a/" : "b/", i, ".png"),
                          PngBytes(NoiseImage(3, 8, 8, i)));
    }
    files_[4].second = "";
    WriteTree(dir_ / "photos", files_);
    config_.set_source(dir_ / "photos");
    config_.set_image_size(8);
    config_.set_num_classes(2);
    config_.set_max_excluded(0.2);
    WriteList("b/4.png\n");
  }
  void WriteList(const std::string& text) {
    GANDEM_CHECK_OK(WriteFile(dir_ / "bad.txt", text));
    config_.set_exclude(dir_ / "bad.txt");
  }

  const TempDir dir_;
  NamedBytes files_;
  DataConfig config_;
};

TEST_F(ExcludeTest, TheDatasetLacksTheExcludedImages) {
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config_));
  ASSERT_EQ(data->size(), 5);
  std::vector<float> values(3 * 8 * 8);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(*data->Read(i, values), i < 3 ? 0 : 1);
  }
  EXPECT_THAT(ReadDatasetLabels(config_)->labels, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(DescribeAsP(**OpenImages(config_)),
              HasSubstr("5 images (1 left out), 8 x 8"));
}

// A name that may occur in several shards is reported with its shard.
TEST_F(ExcludeTest, ImagesOfShardsAreExcluded) {
  for (int shard = 0; shard < 2; ++shard) {
    WriteTar(dir_ / absl::StrCat("s-", shard, ".tar"),
             {{"1.png", files_[shard].second}, {"2.png", files_[2].second}});
  }
  config_.set_source(dir_ / "s-{0..1}.tar");
  config_.set_num_classes(0);
  config_.set_max_excluded(0.5);
  WriteList("s-1.tar:1.png\n");
  ASSERT_OK_AND_ASSIGN(const auto store, OpenImages(config_));
  EXPECT_EQ(store->size(), 3);
  EXPECT_EQ(store->KeyOf(2), "s-1.tar:2.png");
  EXPECT_THAT(store->info().units, ElementsAre(0, 2));
  config_.set_order(DataConfig::SHARDS);
  config_.set_shuffle_window(2);
  const ImageUnits units = (*OpenDataset(config_))->Units();
  EXPECT_EQ(units.size, 3);
  EXPECT_THAT(units.firsts, ElementsAre(0, 2));
  EXPECT_EQ(units.window, 2);
  config_.set_max_images(2);
  EXPECT_THAT((*OpenDataset(config_))->Units().firsts, ElementsAre(0));
}

TEST_F(ExcludeTest, TooManyExcludedImagesAreRefused) {
  config_.clear_max_excluded();
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("data.exclude: 1 of 6 images"),
                             HasSubstr("'b/4.png'"),
                             HasSubstr("data.max_excluded to 0.168"))));
  config_.set_max_excluded(0.168);
  EXPECT_OK(OpenDataset(config_));
}

TEST_F(ExcludeTest, AChangedListIsRefused) {
  config_.set_exclude_sha256(*Sha256OfFile(config_.exclude()));
  EXPECT_OK(OpenDataset(config_));
  WriteList("b/5.png\n");
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("data.exclude: "),
                             HasSubstr("bad.txt' is not the list"),
                             HasSubstr("put that list back"))));
}

TEST_F(ExcludeTest, ChangedImagesAreRefused) {
  const auto listing = [this] { return ListingSha256(**OpenImages(config_)); };
  const std::string begun = listing();
  config_.set_listing_sha256(begun);
  EXPECT_OK(OpenDataset(config_));
  WriteList("b/5.png\n");
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("data.source: it holds 5 images now"),
                             HasSubstr("data.listing_sha256"))));
  config_.clear_listing_sha256();
  EXPECT_NE(listing(), begun);
}

TEST(ListingTest, TheListingHasTensorShardsLabelsAndCounts) {
  const TempDir dir;
  const auto listing = [&dir](const std::string& name, int64_t count,
                              const std::vector<int64_t>& labels) {
    std::filesystem::remove_all(dir / "t");
    NamedBytes files = {{name, NpyBytes(DType::kF32, {count, 1, 1, 1},
                                        std::vector<float>(count))}};
    if (!labels.empty()) {
      files.push_back({"a_labels.npy", NpyBytes(DType::kI64, {count}, labels)});
    }
    WriteTree(dir / "t", files);
    return ListingSha256(**OpenSource(dir / "t"));
  };
  const std::string begun = listing("a.npy", 2, {});
  EXPECT_EQ(begun, listing("a.npy", 2, {}));
  EXPECT_NE(begun, listing("b.npy", 2, {}));
  EXPECT_NE(begun, listing("a.npy", 3, {}));
  const std::string labeled = listing("a.npy", 2, {0, 1});
  EXPECT_NE(begun, labeled);
  EXPECT_NE(labeled, listing("a.npy", 2, {1, 0}));
}

TEST(ListingTest, TheListingHasNamesLabelsAndBytes) {
  const TempDir dir;
  const auto listing = [&dir](const NamedBytes& files) {
    std::filesystem::remove_all(dir / "f");
    WriteTree(dir / "f", files);
    return ListingSha256(**OpenSource(dir / "f"));
  };
  const std::string one = PngBytes(NoiseImage(1, 8, 8, 1));
  const std::string other = PngBytes(NoiseImage(3, 8, 8, 1));
  const std::string of_two = listing({{"a/1.png", one}, {"b/2.png", one}});
  EXPECT_EQ(of_two, listing({{"b/2.png", one}, {"a/1.png", one}}));
  EXPECT_NE(of_two, listing({{"a/1.png", one}}));
  EXPECT_NE(of_two, listing({{"a/1.png", one}, {"b/3.png", one}}));
  EXPECT_NE(of_two, listing({{"a/1.png", one}, {"b/2.png", other}}));
  EXPECT_NE(listing({{"1.png", one},
                     {"2.png", one},
                     {"labels.csv", "1.png,0\n2.png,0\n"}}),
            listing({{"1.png", one},
                     {"2.png", one},
                     {"labels.csv", "1.png,0\n2.png,1\n"}}));
}

TEST_F(ExcludeTest, InvalidListsAreRefused) {
  WriteList("b/none.png\n");
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.exclude: no image of the source is "
                                 "called 'b/none.png'")));
  WriteList("\"b\n");
  EXPECT_THAT(OpenDataset(config_), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("bad.txt: line 1")));
  config_.set_exclude(dir_ / "none");
  EXPECT_THAT(OpenDataset(config_), StatusIs(absl::StatusCode::kNotFound,
                                             HasSubstr("data.exclude: ")));
}

TEST_F(ExcludeTest, ImagesOfPairsAreExcluded) {
  for (uint32_t i = 0; i < 6; ++i) {
    WriteTree(dir_ / "maps", {{absl::StrCat(i, ".png"),
                               PngBytes(NoiseImage(3, 8, 8, 100 + i))}});
  }
  config_.set_inputs(dir_ / "maps");
  ASSERT_OK_AND_ASSIGN(const auto pairs, OpenPairs(config_));
  ASSERT_EQ(pairs->size(), 5);
  std::vector<float> pair(6 * 8 * 8);
  ASSERT_OK(pairs->Read(4, pair));
  DataConfig maps;
  maps.set_source(dir_ / "maps");
  maps.set_image_size(8);
  std::vector<float> input(3 * 8 * 8);
  ASSERT_OK((*OpenDataset(maps))->Read(5, input));
  EXPECT_TRUE(std::equal(input.begin(), input.end(), pair.begin() + 3 * 8 * 8));
}

TEST_F(ExcludeTest, TheErrorWithoutAListSuggestsOne) {
  config_.clear_exclude();
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config_));
  std::vector<float> values(3 * 8 * 8);
  EXPECT_THAT(data->Read(4, values),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("b/4.png: it has no bytes"),
                             HasSubstr(absl::StrCat("gandem dataset verify '",
                                                    config_.source(),
                                                    "' --exclude bad.txt")),
                             HasSubstr("--set data.exclude="))));
  // A disk error is not a fault of the image.
  ASSERT_OK(RemoveAll(dir_ / "photos/b/5.png"));
  EXPECT_THAT(data->Read(5, values), StatusIs(absl::StatusCode::kNotFound,
                                              Not(HasSubstr("--exclude"))));
}

}  // namespace
}  // namespace gandem
