// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/card_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A bias that is small beside the distance is no reason to warn.
TEST(WarningsTest, ABiasThatMatters) {
  MetricCard card;
  card.mutable_reference()->set_num_images(50000);
  Metric& distance = *card.add_metrics();
  distance.set_name("FID");
  distance.set_value(100);
  distance.set_predicted_bias(1);
  WarnOfFewImages(1000, card);
  EXPECT_EQ(card.warnings_size(), 0);
  distance.set_predicted_bias(30);
  WarnOfFewImages(1000, card);
  ASSERT_EQ(card.warnings_size(), 1);
  EXPECT_EQ(card.warnings(0),
            "what is judged has only 1000 images, below 2048: about 30 of the "
            "FID 100 is sampling bias; compare it with figures of as many "
            "images only");
}

constexpr int64_t kInformationDim = 16;
constexpr int64_t kInformationRows = 300;

class InformationTest : public ::testing::Test {
 protected:
  // Of a network with these features of the reference.
  MetricCard Describe(const at::Tensor& features_ND) {
    const FeatureNet net = {.name = "net",
                            .sha256 = {},
                            .feature_dim = features_ND.size(1),
                            .resize = {}};
    const gandem::testing::TempDir dir;
    const FeatureStore store = *FeatureStore::Create(dir.path(), {});
    for (const IndexRange& slice : SlicesOf(features_ND.size(0))) {
      EXPECT_OK(store.Write(slice, {.features_ND = features_ND.narrow(
                                        0, slice.first, slice.count)}));
    }
    MetricCard card;
    EXPECT_OK(DescribeInformation(
        net, *MomentsOf(features_ND),
        FeatureSide{.store = &store, .num_images = features_ND.size(0)}, card));
    return card;
  }
};

TEST_F(InformationTest, OfHealthyFeatures) {
  const MetricCard card = Describe(
      gandem::testing::RandomNormal(kInformationRows, kInformationDim, 1));
  EXPECT_EQ(card.features().rank(), kInformationDim);
  EXPECT_GT(card.features().effective_rank(), 15);
  EXPECT_LE(card.features().effective_rank(), 16);
  EXPECT_EQ(card.features().density(), 1);
  EXPECT_THAT(card.warnings(), IsEmpty());
}

// exp(-sum p log p) of eigenvalues 4 and 1: 0.8 and 0.2.
TEST_F(InformationTest, EffectiveRankIsTheEntropys) {
  const at::Tensor corners = torch::tensor(
      {{2.0, 1.0}, {2.0, -1.0}, {-2.0, 1.0}, {-2.0, -1.0}}, at::kDouble);
  EXPECT_NEAR(Describe(corners.repeat({50, 1})).features().effective_rank(),
              std::exp(-0.8 * std::log(0.8) - 0.2 * std::log(0.2)), 1e-9);
}

TEST_F(InformationTest, ARankFarBelowTheDimension) {
  const at::Tensor few = gandem::testing::RandomNormal(kInformationRows, 3, 1);
  const MetricCard card =
      Describe(few.mm(gandem::testing::RandomNormal(3, kInformationDim, 2)));
  EXPECT_EQ(card.features().rank(), 3);
  EXPECT_THAT(card.warnings(),
              ElementsAre(HasSubstr("the 16 numbers of net vary in 3 "
                                    "directions only over the reference, "
                                    "where 16 are possible")));
}

TEST_F(InformationTest, OneDirectionThatDecides) {
  at::Tensor features_ND =
      gandem::testing::RandomNormal(kInformationRows, kInformationDim, 1);
  features_ND.select(1, 0).mul_(100);
  EXPECT_THAT(Describe(features_ND).warnings(),
              ElementsAre(HasSubstr("an effective rank of 1.0")));
}

TEST_F(InformationTest, OneNumberForEachImage) {
  EXPECT_THAT(Describe(gandem::testing::RandomNormal(kInformationRows, 1, 1))
                  .warnings(),
              ElementsAre(HasSubstr("net gives one number for each image")));
}

// Fewer images than numbers: what is possible is less.
TEST_F(InformationTest, FewImagesAreNoFaultOfTheNetwork) {
  const MetricCard card = Describe(gandem::testing::RandomNormal(4, 64, 1));
  EXPECT_EQ(card.features().rank(), 3);
  EXPECT_FALSE(card.features().has_density());
  EXPECT_THAT(card.warnings(), IsEmpty());
}

// Images that the network cannot tell apart lie in no ball of their own.
TEST_F(InformationTest, DensityFallsWhereImagesAreTakenForEqual) {
  at::Tensor features_ND =
      gandem::testing::RandomNormal(kInformationRows, kInformationDim, 1);
  features_ND.narrow(0, 0, 150).copy_(features_ND[0].clone());
  EXPECT_NEAR(Describe(features_ND).features().density(), 0.5, 0.05);
}

TEST(WarningsTest, TwoSidesThatAreTheSame) {
  MetricCard card;
  WarnOfEqualSides(card);  // no hashes, no reference
  card.mutable_images()->set_sha256("0123456789abcdef");
  card.mutable_reference()->set_sha256("0123456789abcdee");
  WarnOfEqualSides(card);
  EXPECT_THAT(card.warnings(), IsEmpty());
  card.mutable_reference()->set_sha256("0123456789abcdef");
  WarnOfEqualSides(card);
  EXPECT_THAT(card.warnings(),
              ElementsAre(HasSubstr("are the same (sha256 0123456789ab)")));
}

}  // namespace
}  // namespace gandem
