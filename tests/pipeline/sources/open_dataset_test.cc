// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/open_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "pipeline/formats/npy_format.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/sources/resolve_data.h"
#include "proto/config.pb.h"
#include "tests/pipeline/idx_files.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/cpu_seconds.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::CpuSeconds;
using ::gandem::testing::DescribeAsP;
using ::gandem::testing::FakeStore;
using ::gandem::testing::IdxBytes;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WritePlain;
using ::gandem::testing::WriteTree;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OpenDatasetTest : public ::testing::Test {
 protected:
  gandem::testing::TempDir dir_;
  const std::string images_ = WritePlain(
      dir_ / "images", IdxBytes({3, 1, 2}, {0, 255, 51, 204, 127, 128}));
  const std::string labels_ =
      WritePlain(dir_ / "labels", IdxBytes({3}, {7, 8, 9}));
};

// The file is sparse: only the header takes space on disk.
TEST_F(OpenDatasetTest, TwoThousandMillionTensorsCostNoMoreThanTwo) {
  constexpr int64_t kSamples = 2'000'000'000;
  const auto header =
      MakeNpyHeader(DType::kF16, std::vector<int64_t>{kSamples, 1, 1, 1});
  const std::string path = WritePlain(dir_ / "many.npy", header->text);
  std::filesystem::resize_file(path, header->text.size() + 2 * kSamples);
  DataConfig config;
  config.set_source(path);
  config.set_image_size(1);
  ASSERT_OK_AND_ASSIGN(const auto images, OpenImages(config));
  EXPECT_OK(ResolveAndDescribe(*images, config));
  config.set_listing_sha256(ListingSha256(*images));
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config));
  EXPECT_EQ(data->size(), kSamples);
  std::vector<float> value(1);
  EXPECT_EQ(*data->Read(kSamples - 1, value), kNoLabel);
}

// The config's defaults use Debian's dataset-fashion-mnist.
TEST(FashionMnistTest, OpeningTakesWellUnderASecond) {
  DataConfig config;
  const double start = CpuSeconds();
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config));
  EXPECT_LT(CpuSeconds() - start, 5);
  EXPECT_EQ(data->size(), 60000);
  EXPECT_EQ(data->shape(),
            (ImageShape{.channels = 1, .height = 32, .width = 32}));
  std::vector<float> pixels(data->shape().NumValues());
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 10; ++i) labels.push_back(*data->Read(i, pixels));
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  EXPECT_EQ(DescribeAsP(**OpenSource(folder)),
            "60,000 images, 28 x 28, gray, 10 classes: IDX files P");
  // The first labels of the published dataset.
  EXPECT_THAT(labels, ElementsAre(9, 0, 0, 3, 0, 2, 7, 2, 5, 5));
}

TEST_F(OpenDatasetTest, OpenDatasetFollowsTheConfig) {
  DataConfig config;
  config.set_idx_images(images_);
  config.set_idx_labels(labels_);
  config.set_image_size(4);
  config.set_max_images(2);
  ASSERT_OK_AND_ASSIGN(const auto padded, OpenDataset(config));
  EXPECT_EQ(padded->size(), 2);
  EXPECT_EQ(padded->shape(),
            (ImageShape{.channels = 1, .height = 4, .width = 4}));
  std::vector<float> pixels(16);
  EXPECT_EQ(*padded->Read(0, pixels), 7);
  EXPECT_EQ(pixels[0], -1.0f);  // padding
  EXPECT_EQ(pixels[6], 1.0f);

  config.set_num_classes(9);
  EXPECT_THAT(OpenDataset(config), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("image 2 has label 9")));

  config.clear_num_classes();
  config.set_fit(RESIZE);
  ASSERT_OK_AND_ASSIGN(const auto resized, OpenDataset(config));
  EXPECT_EQ(*resized->Read(0, pixels), 7);
  EXPECT_EQ(pixels[3], 1.0f);  // stretched to the edge

  config.set_fit(PAD);
  config.set_image_size(1);
  EXPECT_THAT(OpenDataset(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.image_size 1 is too small")));
}

TEST_F(OpenDatasetTest, ReadDatasetLabelsFollowsTheConfig) {
  DataConfig config;
  config.set_idx_labels(labels_);
  EXPECT_THAT(ReadDatasetLabels(config)->labels, ElementsAre(7, 8, 9));
  config.set_max_images(2);
  EXPECT_THAT(ReadDatasetLabels(config)->labels, ElementsAre(7, 8));
  config.set_num_classes(9);
  EXPECT_THAT(ReadDatasetLabels(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("image 2 has label 9")));
  config.set_idx_labels("");
  EXPECT_TRUE(ReadDatasetLabels(config)->labels.empty());
}

TEST_F(OpenDatasetTest, OpenPairsReadsBothFiles) {
  DataConfig config;
  config.set_idx_images(images_);
  config.set_idx_labels(labels_);
  config.set_idx_inputs(
      WritePlain(dir_ / "inputs", IdxBytes({3, 2, 2}, {0, 0, 0, 0,    //
                                                       255, 0, 0, 0,  //
                                                       0, 0, 0, 255})));
  config.set_image_size(2);
  ASSERT_OK_AND_ASSIGN(const auto pairs, OpenPairs(config));
  EXPECT_EQ(pairs->size(), 3);
  EXPECT_EQ(pairs->shape(),
            (ImageShape{.channels = 2, .height = 2, .width = 2}));
  std::vector<float> pixels(8);
  EXPECT_EQ(*pairs->Read(1, pixels), 8);
  EXPECT_THAT(pixels, ElementsAre(-0.6f, 0.6f, -1, -1,  // padded
                                  1, -1, -1, -1));

  config.set_idx_inputs(
      WritePlain(dir_ / "few", IdxBytes({2, 1, 2}, {0, 0, 0, 0})));
  EXPECT_THAT(OpenPairs(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.idx_images and data.idx_inputs: pairs: "
                                 "3 images and 2")));
}

TEST_F(OpenDatasetTest, TheSourceSetsUnsetFields) {
  WriteTree(dir_ / "photos", {{"a/1.png", PngBytes(NoiseImage(3, 10, 20, 1))},
                              {"b/2.png", PngBytes(NoiseImage(1, 9, 9, 2))}});
  DataConfig config;
  config.set_source(dir_ / "photos");
  config.set_image_size(8);
  config.set_num_classes(2);
  ASSERT_OK_AND_ASSIGN(const auto source, OpenImages(config));
  DataConfig resolved = config;
  ASSERT_OK(ResolveData(*source, resolved));
  EXPECT_EQ(resolved.channels(), 3);
  EXPECT_EQ(resolved.fit(), RESIZE);
  EXPECT_EQ(resolved.crop(), DataConfig::CENTER);
  EXPECT_EQ(resolved.resize(), DataConfig::BICUBIC);
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config));
  EXPECT_EQ(data->shape(),
            (ImageShape{.channels = 3, .height = 8, .width = 8}));
  EXPECT_THAT(ReadDatasetLabels(config)->labels, ElementsAre(0, 1));

  resolved.set_channels(1);
  resolved.set_fit(PAD);
  resolved.set_crop(DataConfig::NONE);
  resolved.set_resize(DataConfig::BOX);
  const std::string before = resolved.SerializeAsString();
  ASSERT_OK(ResolveData(*source, resolved));
  EXPECT_EQ(resolved.SerializeAsString(), before);

  config.set_num_classes(1);
  EXPECT_THAT(OpenDataset(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("photos: image 1 has label 1")));
}

// A store of `images` images of 100,000 bytes each.
class StoredImages : public FakeStore {
 public:
  StoredImages(int64_t images, bool whole_units)
      : FakeStore({}, {.size = images,
                       .stored_bytes = images * 100'000,
                       .reads_whole_units = whole_units}) {}
};

DataConfig OrderOf(const StoredImages& images, const std::string& source,
                   DataConfig config = {}) {
  config.set_source(source);
  config.set_memory_bytes(80'000'000);
  ResolveOrder(images, config);
  EXPECT_TRUE(config.has_order());
  return config;
}

// The cache should hold the pieces that are needed next: blocks take half of
// the memory, row groups a quarter, and a quarter of these is for a window.
TEST(ResolveOrderTest, WindowsFitIntoTheCache) {
  const std::string url = "https://example.org/s-{0..9}.tar";
  const StoredImages tar(1000, false);
  const DataConfig shards = OrderOf(tar, url);
  EXPECT_EQ(shards.order(), DataConfig::SHARDS);
  EXPECT_EQ(shards.shuffle_window(), 100);
  EXPECT_EQ(AdviceOnWindow(tar, shards), "");

  DataConfig cached;
  cached.set_cache_dir("/somewhere");
  EXPECT_EQ(OrderOf(tar, url, cached).shuffle_window(), 16384);
  // A small dataset fits into memory.
  EXPECT_EQ(OrderOf(StoredImages(99, false), url).shuffle_window(), 16384);

  const StoredImages parquet(1000, true);
  EXPECT_EQ(OrderOf(parquet, "s3://bucket/a.parquet").shuffle_window(), 50);
}

TEST(ResolveOrderTest, LocalFilesHaveTheGlobalOrder) {
  const StoredImages tar(100'000, false);
  const DataConfig config = OrderOf(tar, "s-{0..9}.tar");
  EXPECT_EQ(config.order(), DataConfig::GLOBAL);
  EXPECT_FALSE(config.has_shuffle_window());
  EXPECT_EQ(AdviceOnWindow(tar, config), "");

  // Parquet has the global order as well, like a folder, but reads slowly.
  const StoredImages parquet(1000, true);
  const DataConfig rows = OrderOf(parquet, "a.parquet");
  EXPECT_EQ(rows.order(), DataConfig::GLOBAL);
  EXPECT_THAT(AdviceOnWindow(parquet, rows),
              HasSubstr("data.shuffle_window to at most 50"));
  const StoredImages fits(200, true);
  EXPECT_EQ(AdviceOnWindow(fits, OrderOf(fits, "a.parquet")), "");
}

TEST(ResolveOrderTest, ExplicitSettingsAreKeptWithAWarning) {
  const StoredImages tar(1000, false);
  const std::string url = "https://example.org/s-{0..9}.tar";
  DataConfig given;
  given.set_order(DataConfig::GLOBAL);
  const DataConfig global = OrderOf(tar, url, given);
  EXPECT_EQ(global.order(), DataConfig::GLOBAL);
  EXPECT_THAT(AdviceOnWindow(tar, global),
              AllOf(HasSubstr("any of 1000 images may be next, and "
                              "data.memory_bytes holds those of 400"),
                    HasSubstr("data.shuffle_window to at most 100")));
  given.set_order(DataConfig::SHARDS);
  for (const int64_t window : {400, 401}) {
    given.set_shuffle_window(window);
    const DataConfig config = OrderOf(tar, url, given);
    EXPECT_EQ(config.shuffle_window(), window);
    EXPECT_EQ(AdviceOnWindow(tar, config).empty(), window == 400);
  }
}

TEST_F(OpenDatasetTest, SmallIdxImagesArePadded) {
  const std::string images =
      WritePlain(dir_ / "x-images-idx3-ubyte",
                 IdxBytes({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  WritePlain(dir_ / "x-labels-idx1-ubyte", IdxBytes({2}, {1, 0}));
  DataConfig by_source;
  by_source.set_source(images);
  by_source.set_image_size(4);
  DataConfig by_field;
  by_field.set_idx_images(images);
  by_field.set_idx_labels(dir_ / "x-labels-idx1-ubyte");
  by_field.set_image_size(4);
  ASSERT_OK_AND_ASSIGN(const auto a, OpenDataset(by_source));
  ASSERT_OK_AND_ASSIGN(const auto b, OpenDataset(by_field));
  std::vector<float> values_a(16);
  std::vector<float> values_b(16);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*a->Read(i, values_a), 1 - i);
    EXPECT_EQ(*b->Read(i, values_b), 1 - i);
    EXPECT_EQ(values_a, values_b);
  }
  for (const int64_t size : {1, 6}) {
    DataConfig resolved = by_source;
    resolved.set_image_size(size);
    ASSERT_OK(ResolveData(**OpenImages(resolved), resolved));
    EXPECT_EQ(resolved.fit(), RESIZE) << size;
  }
}

TEST_F(OpenDatasetTest, MissingLabelsAreReported) {
  WriteTree(dir_ / "flat", {{"1.png", PngBytes(NoiseImage(1, 2, 2, 1))}});
  DataConfig config;
  config.set_source(dir_ / "flat");
  EXPECT_TRUE(ReadDatasetLabels(config)->labels.empty());
  EXPECT_OK(OpenDataset(config));
  config.set_num_classes(10);
  EXPECT_THAT(OpenDataset(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("flat has no labels, and data.num_classes is "
                                 "10")));
}

// A recipe with classes needs labels; one without classes ignores them.
TEST_F(OpenDatasetTest, UnusableLabelsAreReported) {
  WriteTree(dir_ / "kaggle", {{"1.png", PngBytes(NoiseImage(1, 2, 2, 1))},
                              {"labels.csv", "id,breed\n1,pug\n"}});
  DataConfig config;
  config.set_source(dir_ / "kaggle");
  EXPECT_OK(OpenDataset(config));
  EXPECT_TRUE(ReadDatasetLabels(config)->labels.empty());
  config.set_num_classes(1);
  for (const absl::Status& status :
       {OpenDataset(config).status(), ReadDatasetLabels(config).status()}) {
    EXPECT_THAT(
        status,
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("has no labels that can be used ("),
                       HasSubstr("labels.csv has no label for '1.png'"))));
  }
}

TEST_F(OpenDatasetTest, SideBySidePairsAreSplit) {
  const PixelImage pair = {.height = 1, .width = 2, .pixels = {10, 20}};
  WriteTree(dir_ / "pairs", {{"1.png", PngBytes(pair)}});
  DataConfig config;
  config.set_source(dir_ / "pairs");
  config.set_image_size(1);
  std::vector<float> values(2);
  const auto bytes = [&] {
    return std::vector<int>{QuantizePixel(values[0]), QuantizePixel(values[1])};
  };
  config.set_side_by_side(DataConfig::INPUT_LEFT);
  ASSERT_OK_AND_ASSIGN(const auto left, OpenPairs(config));
  EXPECT_OK(left->Read(0, values));
  EXPECT_THAT(bytes(), ElementsAre(20, 10));  // the target comes first
  config.set_side_by_side(DataConfig::INPUT_RIGHT);
  ASSERT_OK_AND_ASSIGN(const auto right, OpenPairs(config));
  EXPECT_OK(right->Read(0, values));
  EXPECT_THAT(bytes(), ElementsAre(10, 20));
  ASSERT_OK_AND_ASSIGN(const auto made, OpenDataset(config));
  EXPECT_OK(made->Read(0, std::span(values).first(1)));
  EXPECT_EQ(bytes()[0], 10);

  WriteTree(dir_ / "odd", {{"1.png", PngBytes(NoiseImage(1, 1, 3, 1))}});
  config.set_source(dir_ / "odd");
  EXPECT_THAT(OpenPairs(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("1.png"), HasSubstr("3 pixels wide"))));
}

TEST_F(OpenDatasetTest, PairsOfTwoSourcesAreJoined) {
  WriteTree(dir_ / "photos", {{"1.png", PngBytes(NoiseImage(3, 4, 4, 1))}});
  WriteTree(dir_ / "maps", {{"1.png", PngBytes(NoiseImage(3, 4, 4, 2))}});
  DataConfig config;
  config.set_source(dir_ / "photos");
  config.set_inputs(dir_ / "maps");
  config.set_image_size(4);
  ASSERT_OK_AND_ASSIGN(const auto pairs, OpenPairs(config));
  EXPECT_EQ(pairs->shape().channels, 6);
  ASSERT_OK_AND_ASSIGN(const std::string hash, HashOfInputs(config));
  DataConfig maps;
  maps.set_source(dir_ / "maps");
  EXPECT_EQ(hash, *(*OpenDataset(maps))->ContentHash());
  WriteTree(dir_ / "maps", {{"2.png", PngBytes(NoiseImage(3, 4, 4, 3))}});
  EXPECT_THAT(OpenPairs(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.source and data.inputs: pairs: 1 images "
                                 "and 2")));
}

TEST_F(OpenDatasetTest, ErrorsNameTheField) {
  DataConfig config;
  config.set_source(dir_ / "none");
  EXPECT_THAT(OpenDataset(config), StatusIs(absl::StatusCode::kNotFound,
                                            HasSubstr("data.source: ")));
  config.set_source(images_);
  config.set_inputs(dir_ / "none");
  EXPECT_THAT(OpenPairs(config), StatusIs(absl::StatusCode::kNotFound,
                                          HasSubstr("data.inputs: ")));
}

}  // namespace
}  // namespace gandem
