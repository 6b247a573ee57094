// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/feature_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "common/files/file.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FeatureNet MakeNet() {
  FeatureNet net;
  net.name = "net";
  net.feature_dim = 5;
  net.num_classes = 3;
  return net;
}
const FeatureNet kNet = MakeNet();

// Values that no float32 holds.
Features MakeFeatures(IndexRange slice) {
  const at::Tensor rows =
      torch::arange(slice.first, slice.end(), at::kDouble).view({-1, 1});
  return {.features_ND = (rows + torch::arange(5, at::kDouble) / 7).sin(),
          .logits_NK = rows - torch::arange(3, at::kDouble) / 3};
}

class FeatureStoreTest : public ::testing::Test {
 protected:
  FeatureStore Create() {
    EXPECT_OK(CreateDirectories(dir_ / "store"));
    return FeatureStore(dir_ / "store");
  }
  gandem::testing::TempDir dir_;
};

TEST_F(FeatureStoreTest, SlicesHaveAFixedSize) {
  EXPECT_THAT(SlicesOf(300),
              ElementsAre(IndexRange{0, 128}, IndexRange{128, 128},
                          IndexRange{256, 44}));
  EXPECT_THAT(SlicesOf(128), ElementsAre(IndexRange{0, 128}));
  EXPECT_THAT(SlicesOf(0), IsEmpty());
}

TEST_F(FeatureStoreTest, AnotherJobFindsWhatIsMissing) {
  const FeatureStore store = Create();
  ASSERT_OK(store.Write({0, 128}, MakeFeatures({0, 128})));
  const FeatureStore other(store.folder());
  EXPECT_THAT(other.Missing(150), ElementsAre(IndexRange{128, 22}));
  ASSERT_OK(other.Write({128, 22}, MakeFeatures({128, 22})));
  EXPECT_THAT(store.Missing(150), IsEmpty());
}

// A file-size limit stands for a full disk.
TEST_F(FeatureStoreTest, AFullDiskLeavesNothing) {
  const FeatureStore store = Create();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status written = store.Write({0, 128}, MakeFeatures({0, 128}));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(written, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(*ListDirectory(store.folder()), IsEmpty());
}

TEST_F(FeatureStoreTest, EveryBitComesBack) {
  const FeatureStore store = Create();
  for (const IndexRange slice : SlicesOf(300)) {
    ASSERT_OK(store.Write(slice, MakeFeatures(slice)));
  }
  const Features expected = MakeFeatures({0, 300});
  ASSERT_OK_AND_ASSIGN(const Features all,
                       ReadAllFeatures(store, kNet, 300, /*with_logits=*/true));
  EXPECT_TRUE(all.features_ND.equal(expected.features_ND));
  EXPECT_TRUE(all.logits_NK.equal(expected.logits_NK));
  ASSERT_OK_AND_ASSIGN(const Moments moments, ReadMoments(store, kNet, 300));
  ASSERT_OK_AND_ASSIGN(const Moments direct, MomentsOf(expected.features_ND));
  EXPECT_TRUE(moments.mean_D.equal(direct.mean_D));
  EXPECT_TRUE(moments.covariance_DD.equal(direct.covariance_DD));
}

TEST_F(FeatureStoreTest, Float32ValuesTakeHalfTheBytes) {
  const FeatureStore store = Create();
  const auto size_of = [&](const at::Tensor& values) {
    EXPECT_OK(CreateDirectories(dir_ / "sized"));
    const FeatureStore here(dir_ / "sized");
    EXPECT_OK(here.Write({0, 128}, {.features_ND = values, .logits_NK = {}}));
    return std::filesystem::file_size(
        dir_ / "sized/features-000000000-128.safetensors");
  };
  const at::Tensor wide = torch::rand({128, 64}, at::kDouble);
  const at::Tensor narrow = wide.to(at::kFloat).to(at::kDouble);
  EXPECT_EQ(size_of(wide) - size_of(narrow), 128u * 64 * 4);
}

// An evaluation holds no more bytes in memory than on disk.
TEST_F(FeatureStoreTest, Float32ValuesAreReadAsFloat32) {
  const FeatureStore store = Create();
  const auto narrow = [](IndexRange slice) {
    Features features = MakeFeatures(slice);
    features.features_ND = features.features_ND.to(at::kFloat).to(at::kDouble);
    return features;
  };
  ASSERT_OK(store.Write({0, 128}, narrow({0, 128})));
  ASSERT_OK(store.Write({128, 2}, narrow({128, 2})));
  ASSERT_OK_AND_ASSIGN(Features all, ReadAllFeatures(store, kNet, 130,
                                                     /*with_logits=*/false));
  EXPECT_EQ(all.features_ND.scalar_type(), at::kFloat);
  EXPECT_TRUE(
      all.features_ND.to(at::kDouble).equal(narrow({0, 130}).features_ND));
  EXPECT_FALSE(all.logits_NK.defined());
  // A later slice may need float64.
  ASSERT_OK(store.Write({128, 22}, MakeFeatures({128, 22})));
  ASSERT_OK_AND_ASSIGN(all,
                       ReadAllFeatures(store, kNet, 150, /*with_logits=*/true));
  EXPECT_TRUE(all.features_ND.equal(at::cat(
      {narrow({0, 128}).features_ND, MakeFeatures({128, 22}).features_ND})));
  EXPECT_TRUE(all.logits_NK.equal(MakeFeatures({0, 150}).logits_NK));
}

TEST_F(FeatureStoreTest, ADamagedSliceIsRemovedToBeComputedAgain) {
  const FeatureStore store = Create();
  const std::string path =
      store.folder() + "/features-000000000-128.safetensors";
  ASSERT_OK(store.Write({0, 128}, MakeFeatures({0, 128})));
  ASSERT_OK_AND_ASSIGN(const std::string good, ReadFile(path));
  ASSERT_OK(WriteFile(path, good.substr(0, good.size() - 1)));
  EXPECT_THAT(ReadAllFeatures(store, kNet, 128, /*with_logits=*/true),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("run the same command again")));
  EXPECT_FALSE(PathExists(path));
  // Features of other dimensions count as damaged.
  ASSERT_OK(store.Write({0, 128}, MakeFeatures({0, 128})));
  FeatureNet other = kNet;
  other.feature_dim = 6;
  EXPECT_THAT(ReadMoments(store, other, 128),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("features")));
  EXPECT_THAT(store.Missing(128), ElementsAre(IndexRange{0, 128}));
}

}  // namespace
}  // namespace gandem
