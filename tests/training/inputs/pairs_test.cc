// SPDX-License-Identifier: Apache-2.0
#include "training/inputs/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>

#include "models/torch.h"
#include "pipeline/feed/prefetcher.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;

constexpr int64_t kImages = 37;
constexpr int64_t kPairsSteps = 3;  // discriminator steps per round
constexpr int64_t kPairsBatch = 4;

// A dataset of pairs: image i contains i and its input -i, with two channels.
class PairsNumbers : public Dataset {
 public:
  int64_t size() const override { return kImages; }
  ImageShape shape() const override {
    return {.channels = 3, .height = 2, .width = 1};
  }
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& /*stored*/,
                                 std::optional<SampleKey> /*key*/,
                                 std::span<float> out) const override {
    std::ranges::fill(out.first(2), static_cast<float>(index));
    std::ranges::fill(out.subspan(2), -static_cast<float>(index));
    return kNoLabel;
  }
  absl::StatusOr<std::string> ContentHash() const override { return "numbers"; }
};

class Unreadable : public PairsNumbers {
 public:
  absl::StatusOr<int64_t> Finish(int64_t, const StoredView& /*stored*/,
                                 std::optional<SampleKey> /*key*/,
                                 std::span<float>) const override {
    return absl::DataLossError("bad pixel");
  }
};

DataPlan PairsPlan(int64_t interval = 1) {
  return {.shape = {.image = {.channels = 1, .height = 2, .width = 1}},
          .seed = 11,
          .generator_batch = kPairsSteps * kPairsBatch * interval,
          .discriminator_batch = kPairsBatch * interval};
}

PairReader PairsReader(int64_t interval = 1) {
  return PairReader(PairsPlan(interval), std::make_shared<PairsNumbers>(),
                    Compute{});
}

std::vector<float> NumbersOf(const at::Tensor& images_NCHW) {
  const at::Tensor first_N = images_NCHW.flatten(1).select(1, 0).contiguous();
  const float* values = first_N.const_data_ptr<float>();
  return {values, values + first_N.numel()};
}

// A dataset whose images contain the sample number.
class SampledNumbers : public PairsNumbers {
 public:
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& /*stored*/,
                                 std::optional<SampleKey> key,
                                 std::span<float> out) const override {
    if (!key.has_value()) return PairsNumbers::Finish(index, {}, key, out);
    EXPECT_EQ(key->seed, 11u);
    std::ranges::fill(out, static_cast<float>(key->number));
    return kNoLabel;
  }
};

TEST(PairReaderTest, PairsAreReadWithTheSampleNumbersOfTheRun) {
  const PairReader reader(PairsPlan(), std::make_shared<SampledNumbers>(),
                          Compute{});
  const auto numbers = [&](Purpose noise, int64_t step) {
    const auto pairs = reader.Read(noise, step, {.first = 1, .count = 2});
    EXPECT_OK(pairs);
    return NumbersOf(pairs->images_NCHW);
  };
  const float round = 3 * kPairsSteps * kPairsBatch;
  EXPECT_EQ(numbers(Purpose::kGeneratorNoise, 3),
            (std::vector<float>{round + 1, round + 2}));
  const float step = 3 * kPairsBatch;
  EXPECT_EQ(numbers(Purpose::kDiscriminatorNoise, 3),
            (std::vector<float>{step + 1, step + 2}));
  EXPECT_EQ(numbers(Purpose::kSample, 0), (std::vector<float>{1, 2}));
}

class PlacesTest : public ::testing::TestWithParam<int64_t> {};

INSTANTIATE_TEST_SUITE_P(Intervals, PlacesTest, ::testing::Values(1, 2));

TEST_P(PlacesTest, GeneratedImagesHaveTheInputsOfTheRealOnes) {
  const PairReader reader = PairsReader(GetParam());
  // A step uses the batches of its interval.
  const int64_t step_batch = kPairsBatch * GetParam();
  ASSERT_OK_AND_ASSIGN(
      const auto prefetcher,
      Prefetcher::Create(std::make_shared<PairsNumbers>(),
                         {.seed = 11, .batch_size = step_batch}));
  for (int64_t step = 0; step < 5 * kPairsSteps; ++step) {
    ASSERT_OK_AND_ASSIGN(const RealBatch batch,
                         prefetcher->Next(absl::InfiniteFuture()));
    const auto* values =
        reinterpret_cast<const float*>(batch.pixels.span().data());
    std::vector<float> real;
    for (int64_t i = 0; i < step_batch; ++i) real.push_back(values[i * 6]);
    // REUSED images are those of the generator's round.
    ASSERT_OK_AND_ASSIGN(
        const RealImages reused,
        reader.Read(
            Purpose::kGeneratorNoise, step / kPairsSteps,
            {.first = step % kPairsSteps * step_batch, .count = step_batch}));
    EXPECT_EQ(NumbersOf(reused.images_NCHW), real) << step;
    ASSERT_OK_AND_ASSIGN(const RealImages fresh,
                         reader.Read(Purpose::kDiscriminatorNoise, step,
                                     {.first = 0, .count = step_batch}));
    EXPECT_EQ(NumbersOf(fresh.images_NCHW), real) << step;
  }
}

TEST(PairReaderTest, SamplesFollowTheFileAndStartOver) {
  ASSERT_OK_AND_ASSIGN(const RealImages samples,
                       PairsReader().Read(Purpose::kSample, 0,
                                          {.first = kImages - 2, .count = 4}));
  EXPECT_EQ(NumbersOf(samples.images_NCHW),
            (std::vector<float>{kImages - 2, kImages - 1, 0, 1}));
}

TEST(PairReaderTest, InputsAreTheRemainingChannels) {
  const IndexRange range = {.first = 3, .count = 2};
  ASSERT_OK_AND_ASSIGN(const RealImages pairs,
                       PairsReader().Read(Purpose::kSample, 0, range));
  EXPECT_EQ(pairs.images_NCHW.sizes(), (at::IntArrayRef{2, 1, 2, 1}));
  EXPECT_EQ(pairs.condition.images_NCHW.sizes(), (at::IntArrayRef{2, 2, 2, 1}));
  EXPECT_EQ(NumbersOf(pairs.condition.images_NCHW),
            (std::vector<float>{-3, -4}));
  ASSERT_OK_AND_ASSIGN(const Condition condition,
                       InputsOf(std::make_shared<PairReader>(PairsReader()))(
                           Purpose::kSample, 0, range));
  EXPECT_TRUE(at::equal(condition.images_NCHW, pairs.condition.images_NCHW));
}

TEST(PairReaderTest, ReadErrorsAreReported) {
  const PairReader reader(PairsPlan(), std::make_shared<Unreadable>(),
                          Compute{});
  EXPECT_THAT(reader.Read(Purpose::kSample, 0, {.first = 0, .count = 1}),
              StatusIs(absl::StatusCode::kDataLoss, "bad pixel"));
}

TEST(PairReaderTest, BesidePairsShowsInputTranslationAndTarget) {
  const at::Tensor image = torch::ones({2, 1, 3, 4});
  const at::Tensor grid = BesidePairs(
      {.images_NCHW = image * 3, .condition = {.images_NCHW = image}},
      image * 2);
  ASSERT_EQ(grid.sizes(), (at::IntArrayRef{2, 1, 3, 12}));
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(at::equal(grid.narrow(3, 4 * i, 4), image * (i + 1)));
  }
}

}  // namespace
}  // namespace gandem
