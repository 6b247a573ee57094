// SPDX-License-Identifier: Apache-2.0
#include "common/philox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace gandem {
namespace {

using ::testing::ElementsAre;

// Random123's kat_vectors, philox4x32 with 10 rounds.
TEST(PhiloxTest, KnownAnswersAreComputed) {
  EXPECT_THAT(Philox4x32_10({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_THAT(Philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                            {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

std::vector<uint32_t> Words(PhiloxStream stream, int count) {
  std::vector<uint32_t> words;
  for (int i = 0; i < count; ++i) words.push_back(stream.NextUint32());
  return words;
}

// Values from philox_reference.py. A change of them changes every run.
TEST(PhiloxTest, PurposesAreFrozen) {
  const struct {
    Purpose purpose;
    uint32_t words[4];
  } kFrozen[] = {
      {Purpose::kGeneratorNoise,
       {0x9ab0afba, 0x9fd38cf6, 0x17147a3a, 0x99833827}},
      {Purpose::kDiscriminatorNoise,
       {0x281a18af, 0x9ad66a37, 0x71e81215, 0xe247ef09}},
      {Purpose::kGeneratorLabels,
       {0xc996b6b3, 0x88a1aaa6, 0x6ab8b15a, 0xc5e6b2d1}},
      {Purpose::kDataOrder, {0xd7894f7a, 0x266a8062, 0xb5135d9d, 0xeba42e07}},
      {Purpose::kAugmentation,
       {0x281c7ae5, 0x64a8b4fc, 0x33dc5654, 0x1a73f278}},
      {Purpose::kDropout, {0xf26ea4db, 0xc43f19a5, 0x0893f22d, 0xb77bfcc6}},
      {Purpose::kInit, {0x3d263334, 0x1cbe3a18, 0xa7b8a140, 0x1a74e228}},
      {Purpose::kSample, {0xede4d8a1, 0xaaf480f4, 0x0284d361, 0x438b33f0}},
      {Purpose::kResampling, {0x84429cf8, 0x3bb6c5db, 0xfc0a937c, 0x7925406b}},
      {Purpose::kDiscriminatorLabels,
       {0xea5f23a5, 0x88a8911a, 0x27a2c078, 0x25ecca35}},
      {Purpose::kSampleLabels,
       {0xa2b6e86f, 0xcf189543, 0xbd13a1a7, 0x75017cf3}},
      {Purpose::kAugmentReal, {0xf20fbb37, 0x09ca9a6e, 0x50815fa5, 0x45086844}},
      {Purpose::kAugmentGenerated,
       {0xd2d465e6, 0xfd07d806, 0xc432d6a5, 0xaa9618c8}},
      {Purpose::kAugmentJudged,
       {0xe7049a1f, 0xff7db9c2, 0x10712a04, 0xadc0fde4}},
      {Purpose::kAugmentJudgedReal,
       {0x88ce381f, 0x9f221d00, 0x6471d1e4, 0x562a371a}},
      {Purpose::kConsistencyReal,
       {0x7ff6a66f, 0x19062a19, 0x995942d0, 0xd1f613c2}},
      {Purpose::kConsistencyGenerated,
       {0x79b514bd, 0xe6c32043, 0x7973bb10, 0x956df1db}},
      {Purpose::kPenaltyPoint,
       {0xefd8fe38, 0xf2def1e7, 0x2bb73a8d, 0x97dcf927}},
      {Purpose::kStandingStatistics,
       {0x3178c92d, 0x1faf0b3a, 0x480a12e2, 0x7b1a645d}},
      {Purpose::kDataTransform,
       {0x13b64855, 0x02ea2814, 0xa4847b25, 0x7a394302}},
      {Purpose::kUnitOrder, {0x9a067704, 0x05c5a45c, 0xb731088a, 0xb1d2fd64}},
      {Purpose::kWindowOrder, {0x3ec41d31, 0x0da168b4, 0xddc840cb, 0xa20481cc}},
      {Purpose::kSimulatedJitter,
       {0xba825de1, 0x077cd510, 0xab8c462f, 0x99973910}},
      {Purpose::kSimulatedFailure,
       {0x2997ced5, 0xaafbc595, 0x95a42780, 0x41b5812a}},
  };
  for (const auto& frozen : kFrozen) {
    EXPECT_THAT(
        Words(PhiloxStream(0x123456789abcdef0, frozen.purpose, 5, 7), 4),
        ::testing::ElementsAreArray(frozen.words));
  }
}

TEST(PhiloxTest, WideStepAndIndexAreFrozen) {
  PhiloxStream stream(1, Purpose::kGeneratorNoise, (uint64_t{1} << 40) + 3,
                      (uint64_t{1} << 43) + 11);
  EXPECT_THAT(Words(stream, 8),
              ElementsAre(0x15da8234, 0x1318dfc0, 0x0b7a0230, 0xae9b2d36,
                          0xa593e4b2, 0x83075567, 0xc5bd49e0, 0x0f303180));
}

TEST(PhiloxTest, UniformsAndNormalsAreFrozen) {
  PhiloxStream uniforms(1, Purpose::kGeneratorNoise, 5, 7);
  for (const double expected : {0.7380831549212666, 0.7865039183152468,
                                0.4674870627972313, 0.1213015376034543}) {
    EXPECT_EQ(uniforms.NextUniform(), expected);
  }
  PhiloxStream normals(1, Purpose::kGeneratorNoise, 5, 7);
  for (const double expected :
       {-0.15547565021555007, -2.072566858750971, 0.33403082511418586,
        -1.4307269283930637, -2.7911520849937146, 0.5782564274925825}) {
    EXPECT_NEAR(normals.NextNormal(), expected, 1e-14);
  }
}

TEST(PhiloxTest, EveryPartOfTheStreamNameChangesTheStream) {
  std::set<std::vector<uint32_t>> streams;
  int made = 0;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
    for (const Purpose purpose :
         {Purpose::kGeneratorLabels, Purpose::kSample}) {
      // Powers of 4096 catch bits that would spill into a neighboring field.
      for (const uint64_t step : {0ull, 1ull, 1ull << 32, 1ull << 43}) {
        for (const uint64_t index : {0ull, 1ull, 1ull << 32, 1ull << 43}) {
          streams.insert(Words(PhiloxStream(seed, purpose, step, index), 4));
          ++made;
        }
      }
    }
  }
  EXPECT_EQ(streams.size(), made);
}

TEST(PhiloxTest, FillNormalEqualsSingleDraws) {
  for (const size_t size : {0, 1, 2, 5, 100}) {
    for (const int drawn_before : {0, 1, 2}) {
      PhiloxStream one_by_one(3, Purpose::kSample, 1, 2);
      PhiloxStream filled = one_by_one;
      for (int i = 0; i < drawn_before; ++i) {
        EXPECT_EQ(one_by_one.NextNormal(), filled.NextNormal());
      }
      std::vector<float> values(size);
      filled.FillNormal(values);
      for (const float value : values) {
        EXPECT_EQ(value, static_cast<float>(one_by_one.NextNormal()));
      }
      EXPECT_EQ(filled.NextNormal(), one_by_one.NextNormal());
    }
  }
}

TEST(PhiloxTest, NormalsHaveNormalMoments) {
  constexpr int kCount = 1'000'000;
  std::vector<float> values(kCount);
  PhiloxStream(7, Purpose::kGeneratorNoise, 0, 0).FillNormal(values);
  double sum[5] = {};
  for (const double x : values) {
    double power = 1;
    for (double& total : sum) {
      total += power;
      power *= x;
    }
  }
  // Tolerances are four standard deviations of each estimate.
  EXPECT_NEAR(sum[1] / kCount, 0, 4 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(sum[2] / kCount, 1, 4 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(sum[3] / kCount, 0, 4 * std::sqrt(15.0 / kCount));
  EXPECT_NEAR(sum[4] / kCount, 3, 4 * std::sqrt(96.0 / kCount));
}

TEST(PhiloxTest, NextBelowIsUniformAndInRange) {
  PhiloxStream stream(7, Purpose::kDataOrder, 0, 0);
  constexpr int kBound = 7;
  constexpr int kCount = 70'000;
  int counts[kBound] = {};
  for (int i = 0; i < kCount; ++i) {
    const uint32_t draw = stream.NextBelow(kBound);
    ASSERT_LT(draw, kBound);
    ++counts[draw];
  }
  double chi_squared = 0;
  for (const int count : counts) {
    chi_squared += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  }
  EXPECT_LT(chi_squared, 22.46);  // 6 degrees of freedom, p = 0.001
  EXPECT_EQ(stream.NextBelow(1), 0);
}

// floor(word * 3 / 4) is a multiple of three for every second word: without
// rejection that residue class would get half of all draws.
TEST(PhiloxTest, NextBelowRejectsWordsThatWouldBias) {
  PhiloxStream stream(7, Purpose::kDataOrder, 0, 1);
  constexpr uint32_t kBound = 3u << 30;
  int multiples_of_three = 0;
  constexpr int kCount = 30'000;
  for (int i = 0; i < kCount; ++i) {
    multiples_of_three += stream.NextBelow(kBound) % 3 == 0;
  }
  EXPECT_NEAR(multiples_of_three, kCount / 3.0, 400);
}

TEST(PhiloxDeathTest, ValuesThatDoNotFitTheCounterAreRefused) {
  EXPECT_DEATH(PhiloxStream(1, Purpose::kInit, uint64_t{1} << 44, 0), "step");
  EXPECT_DEATH(PhiloxStream(1, Purpose::kInit, 0, uint64_t(-1)), "index");
}

}  // namespace
}  // namespace gandem
