// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/feature_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    FeatureJob job;
    job.set_network("net.pt");
    return *FeatureStore::Create(dir_ / "store", job);
  }
  gandem::testing::TempDir dir_;
};

TEST_F(FeatureStoreTest, SlicesAreThoseOfTheIndex) {
  EXPECT_THAT(SlicesOf(600),
              ElementsAre(IndexRange{0, 256}, IndexRange{256, 256},
                          IndexRange{512, 88}));
  EXPECT_THAT(SlicesOf(256), ElementsAre(IndexRange{0, 256}));
  EXPECT_THAT(SlicesOf(0), IsEmpty());
}

TEST_F(FeatureStoreTest, AnotherProcessFindsTheJobAndWhatIsMissing) {
  const FeatureStore store = Create();
  ASSERT_OK(store.Write({0, 256}, MakeFeatures({0, 256})));
  ASSERT_OK_AND_ASSIGN(const FeatureStore other,
                       FeatureStore::Open(store.folder()));
  EXPECT_EQ(other.job().network(), "net.pt");
  EXPECT_THAT(other.Missing(300), ElementsAre(IndexRange{256, 44}));
  ASSERT_OK(other.Write({256, 44}, MakeFeatures({256, 44})));
  EXPECT_THAT(store.Missing(300), IsEmpty());
  // Creating it again changes nothing.
  EXPECT_THAT(Create().Missing(300), IsEmpty());
  EXPECT_THAT(FeatureStore::Open(dir_ / "none"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(FeatureStoreTest, EveryBitComesBack) {
  const FeatureStore store = Create();
  for (const IndexRange slice : SlicesOf(300)) {
    ASSERT_OK(store.Write(slice, MakeFeatures(slice)));
  }
  const Features expected = MakeFeatures({0, 300});
  ASSERT_OK_AND_ASSIGN(const Features all, ReadAllFeatures(store, kNet, 300));
  EXPECT_TRUE(all.features_ND.equal(expected.features_ND));
  EXPECT_TRUE(all.logits_NK.equal(expected.logits_NK));
  ASSERT_OK_AND_ASSIGN(const Moments moments, ReadMoments(store, kNet, 300));
  ASSERT_OK_AND_ASSIGN(const Moments direct, MomentsOf(expected.features_ND));
  EXPECT_TRUE(moments.mean_D.equal(direct.mean_D));
  EXPECT_TRUE(moments.covariance_DD.equal(direct.covariance_DD));
}

TEST_F(FeatureStoreTest, WhatFloat32HoldsTakesHalfTheBytes) {
  const FeatureStore store = Create();
  const auto size_of = [&](const at::Tensor& values) {
    const FeatureStore here =
        *FeatureStore::Create(dir_ / "sized", FeatureJob());
    EXPECT_OK(here.Write({0, 256}, {.features_ND = values, .logits_NK = {}}));
    return std::filesystem::file_size(
        dir_ / "sized/features-000000000-256.safetensors");
  };
  const at::Tensor wide = torch::rand({256, 64}, at::kDouble);
  const at::Tensor narrow = wide.to(at::kFloat).to(at::kDouble);
  EXPECT_EQ(size_of(wide) - size_of(narrow), 256u * 64 * 4);
}

TEST_F(FeatureStoreTest, ADamagedSliceIsRemovedToBeComputedAgain) {
  const FeatureStore store = Create();
  const std::string path =
      store.folder() + "/features-000000000-256.safetensors";
  ASSERT_OK(store.Write({0, 256}, MakeFeatures({0, 256})));
  ASSERT_OK_AND_ASSIGN(const std::string good, ReadFile(path));
  ASSERT_OK(WriteFile(path, good.substr(0, good.size() - 1)));
  EXPECT_THAT(ReadAllFeatures(store, kNet, 256),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("run the same command again")));
  EXPECT_FALSE(PathExists(path));
  // The features of a network with other dimensions.
  ASSERT_OK(store.Write({0, 256}, MakeFeatures({0, 256})));
  FeatureNet other = kNet;
  other.feature_dim = 6;
  EXPECT_THAT(ReadMoments(store, other, 256),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("features")));
  EXPECT_THAT(store.Missing(256), ElementsAre(IndexRange{0, 256}));
}

}  // namespace
}  // namespace gandem
