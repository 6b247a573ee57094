// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/choose_precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "evaluation/features/classifier.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int64_t kRows = 200;
constexpr int64_t kDim = 8;

// Two sets of features, `apart` in each number.
SeenInPrecision SeenInFloat32(double apart) {
  torch::manual_seed(3);
  return {.precision = at::kFloat,
          .time = absl::Seconds(10),
          .images_ND = torch::randn({kRows, kDim}, torch::kDouble),
          .reference_ND = torch::randn({kRows, kDim}, torch::kDouble) + apart};
}

// The same where each distance from the other side's mean is `stretch` times as
// long.
SeenInPrecision Changed(const SeenInPrecision& exact, at::ScalarType precision,
                        double seconds, double shift) {
  return {.precision = precision,
          .time = absl::Seconds(seconds),
          .images_ND = exact.images_ND,
          .reference_ND = exact.reference_ND + shift};
}

// All means are 1 apart, so is a shift by 1e-5 of the distance 8 one of 2e-5.
TEST(ChoosePrecisionTest, TheFastestThatIsNearEnough) {
  const SeenInPrecision exact = SeenInFloat32(1);
  ASSERT_OK_AND_ASSIGN(
      PrecisionTrial trial,
      JudgePrecisions({exact, Changed(exact, at::kBFloat16, 4, 1e-5),
                       Changed(exact, at::kHalf, 5, 0)},
                      nullptr));
  EXPECT_EQ(trial.precision(), "bfloat16");
  EXPECT_DOUBLE_EQ(trial.speed(), 2.5);
  EXPECT_NEAR(trial.change(), 2e-5, 4e-6);
  EXPECT_EQ(trial.num_images(), kRows);
  EXPECT_EQ(trial.reason(), "");
  ASSERT_OK_AND_ASSIGN(
      trial, JudgePrecisions({exact, Changed(exact, at::kBFloat16, 4, 1e-3),
                              Changed(exact, at::kHalf, 5, 1e-5)},
                             nullptr));
  EXPECT_EQ(trial.precision(), "float16");
}

TEST(ChoosePrecisionTest, Float32WhereNothingElseWillDo) {
  const SeenInPrecision exact = SeenInFloat32(1);
  ASSERT_OK_AND_ASSIGN(
      PrecisionTrial trial,
      JudgePrecisions({exact, Changed(exact, at::kBFloat16, 9.5, 0)}, nullptr));
  EXPECT_EQ(trial.precision(), "float32");
  EXPECT_THAT(trial.reason(), HasSubstr("is faster here"));
  ASSERT_OK_AND_ASSIGN(
      trial, JudgePrecisions({exact, Changed(exact, at::kBFloat16, 2, 0.01)},
                             nullptr));
  EXPECT_EQ(trial.precision(), "float32");
  EXPECT_EQ(trial.speed(), 1);
  EXPECT_THAT(trial.reason(), HasSubstr("changed the distance by 0.02"));
  ASSERT_OK_AND_ASSIGN(trial, JudgePrecisions({exact}, nullptr));
  EXPECT_EQ(trial.precision(), "float32");
}

// Their distance is sampling alone, beside which any change is small.
TEST(ChoosePrecisionTest, SidesThatAreAlikeShowNothing) {
  SeenInPrecision exact = SeenInFloat32(0);
  exact.reference_ND =
      exact.reference_ND - exact.reference_ND.mean(0) + exact.images_ND.mean(0);
  ASSERT_OK_AND_ASSIGN(
      const PrecisionTrial trial,
      JudgePrecisions({exact, Changed(exact, at::kBFloat16, 2, 0)}, nullptr));
  EXPECT_EQ(trial.precision(), "float32");
  EXPECT_THAT(trial.reason(), HasSubstr("too alike"));
}

TEST(ChoosePrecisionTest, AgainstStatistics) {
  const SeenInPrecision exact = SeenInFloat32(1);
  ASSERT_OK_AND_ASSIGN(const Moments statistics, MomentsOf(exact.reference_ND));
  SeenInPrecision near = exact;
  near.precision = at::kBFloat16;
  near.time = absl::Seconds(2);
  near.images_ND = exact.images_ND - 1e-5;
  SeenInPrecision far = near;
  far.images_ND = exact.images_ND - 1e-2;
  ASSERT_OK_AND_ASSIGN(PrecisionTrial trial,
                       JudgePrecisions({exact, near}, &statistics));
  EXPECT_EQ(trial.precision(), "bfloat16");
  ASSERT_OK_AND_ASSIGN(trial, JudgePrecisions({exact, far}, &statistics));
  EXPECT_EQ(trial.precision(), "float32");
}

// Noise of another brightness on either side.
class Noise : public ImageSet {
 public:
  Noise(int64_t size, int64_t brightest) : size_(size), brightest_(brightest) {}
  int64_t size() const override { return size_; }
  ImageShape shape() const override {
    return {.channels = 1, .height = 8, .width = 8};
  }
  absl::StatusOr<ImagesCard> Describe() const override { return ImagesCard(); }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    torch::manual_seed(static_cast<uint64_t>(range.first));
    return torch::randint(0, brightest_, {range.count, 1, 8, 8}, torch::kByte);
  }

 private:
  const int64_t size_;
  const int64_t brightest_;
};

class FastestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Classifier classifier({.channels = 1, .height = 8, .width = 8},
                                /*num_classes=*/4, /*seed=*/1);
    ASSERT_OK(WriteSafetensors(path_, PackClassifier(classifier), {}));
  }

  gandem::testing::TempDir dir_;
  const std::string path_ = dir_ / "classifier.safetensors";
  const ExtractorOptions options_ = {
      .image_shape = {.channels = 1, .height = 8, .width = 8}};
};

TEST_F(FastestTest, OfARealNetwork) {
  Noise images(kLeastForTrial, 256);
  Noise reference(40, 60);
  ASSERT_OK_AND_ASSIGN(const PrecisionTrial trial,
                       FastestPrecision(path_, options_,
                                        {.images = &images,
                                         .num_images = images.size(),
                                         .reference = &reference}));
  // Which one is the fastest is the machine's affair.
  EXPECT_THAT(trial.precision(), AnyOf("float32", "bfloat16", "float16"));
  EXPECT_EQ(trial.num_images(), kTrialImages);
  EXPECT_EQ(trial.precision() == "float32", !trial.reason().empty());
  EXPECT_LE(trial.change(), kMostChange);
}

TEST_F(FastestTest, FewImagesAreNotWorthATrial) {
  Noise images(kLeastForTrial - 41, 256);
  Noise reference(40, 60);
  ASSERT_OK_AND_ASSIGN(const PrecisionTrial trial,
                       FastestPrecision("no such file", options_,
                                        {.images = &images,
                                         .num_images = images.size(),
                                         .reference = &reference}));
  EXPECT_EQ(trial.precision(), "float32");
  EXPECT_THAT(trial.reason(), HasSubstr("fewer than 2048 images"));
}

TEST_F(FastestTest, ATrialIsMadeOnce) {
  int runs = 0;
  const auto run = [&]() -> absl::StatusOr<PrecisionTrial> {
    ++runs;
    PrecisionTrial trial;
    trial.set_precision("bfloat16");
    trial.set_speed(1 + runs);
    return trial;
  };
  const std::string folder = dir_ / "kept";
  ASSERT_OK(KeptTrial(folder, "key", run));
  ASSERT_OK_AND_ASSIGN(PrecisionTrial trial, KeptTrial(folder, "key", run));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(trial.speed(), 2);
  ASSERT_OK(KeptTrial(folder, "another key", run));
  EXPECT_EQ(runs, 2);
  // What cannot be read counts as not there.
  ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(folder));
  ASSERT_EQ(names.size(), 2u);
  for (const std::string& name : names) {
    ASSERT_OK(WriteFile(folder + "/" + name, "precision: \"int8\""));
  }
  ASSERT_OK_AND_ASSIGN(trial, KeptTrial(folder, "key", run));
  EXPECT_EQ(trial.speed(), 4);
  ASSERT_OK(KeptTrial("", "key", run));
  ASSERT_OK(KeptTrial("", "key", run));
  EXPECT_EQ(runs, 5);
}

}  // namespace
}  // namespace gandem
