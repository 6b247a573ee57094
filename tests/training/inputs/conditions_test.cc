// SPDX-License-Identifier: Apache-2.0
#include "training/inputs/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "common/config/run_config.h"
#include "discriminator_worker/discriminator_role.h"
#include "generator_worker/generator_role.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/pipeline/idx_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "training/inputs/pairs.h"
#include "training/optimizers/make_optimizer.h"
#include "training/roles/run_roles.h"
#include "worker/exchange_ends.h"

namespace gandem {
namespace {

constexpr uint64_t kSeed = 3;
constexpr int64_t kClasses = 5;

TEST(KeyedLabelsTest, LabelsAreDrawnFromTheStreamOfEachImage) {
  const ConditionSource source = KeyedLabels(kSeed, kClasses, at::kCPU);
  const std::pair<Purpose, Purpose> purposes[] = {
      {Purpose::kGeneratorNoise, Purpose::kGeneratorLabels},
      {Purpose::kDiscriminatorNoise, Purpose::kDiscriminatorLabels},
      {Purpose::kSample, Purpose::kSampleLabels}};
  for (const auto& [noise, labels] : purposes) {
    ASSERT_OK_AND_ASSIGN(const Condition condition,
                         source(noise, 7, {.first = 10, .count = 20}));
    EXPECT_FALSE(condition.images_NCHW.defined());
    ASSERT_EQ(condition.labels_N.sizes(), at::IntArrayRef{20});
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(condition.labels_N[i].item<int64_t>(),
                PhiloxStream(kSeed, labels, 7, 10 + i).NextBelow(kClasses));
    }
  }
}

TEST(KeyedLabelsTest, LabelsAreUniform) {
  constexpr int64_t kDraws = 50000;
  ASSERT_OK_AND_ASSIGN(
      const Condition condition,
      KeyedLabels(kSeed, kClasses, at::kCPU)(Purpose::kGeneratorNoise, 0,
                                             {.first = 0, .count = kDraws}));
  const at::Tensor counts = at::bincount(condition.labels_N);
  ASSERT_EQ(counts.size(0), kClasses);
  // The tolerance is five standard deviations.
  EXPECT_LT((counts - kDraws / kClasses).abs().max().item<int64_t>(), 450);
}

TEST(KeyedLabelsTest, WithoutClassesThereAreNoLabels) {
  ASSERT_OK_AND_ASSIGN(const Condition condition,
                       KeyedLabels(kSeed, 0, at::kCPU)(
                           Purpose::kSample, 0, {.first = 0, .count = 4}));
  EXPECT_FALSE(condition.labels_N.defined());
}

// Trap T14: labels of generated images are uniform in some papers, follow the
// dataset in others, and equal those of the real batch in a third group.
class OpenLabelsTest : public ::testing::Test {
 protected:
  OpenLabelsTest() {
    for (int64_t i = 0; i < kImages; ++i) labels_[i] = i % 7 == 0 ? 1 : 0;
    plan_.seed = kSeed;
    DataConfig& data = plan_.files;
    data.set_idx_labels(gandem::testing::WritePlain(
        folder_ / "labels", gandem::testing::IdxBytes({kImages}, labels_)));
    data.set_num_classes(3);  // one without images
    plan_.shape = DataShapeOf(data);
    plan_.generator_batch = 8;
    plan_.discriminator_batch = 4;
  }

  at::Tensor Labels(DataConfig::LabelDraw draw, Purpose noise, int64_t step,
                    IndexRange range) {
    plan_.files.set_generated_labels(draw);
    const auto source = OpenLabels(plan_, at::kCPU);
    EXPECT_OK(source.status());
    const auto condition = (*source)(noise, step, range);
    EXPECT_OK(condition.status());
    return condition->labels_N;
  }

  static constexpr int64_t kImages = 70;
  const gandem::testing::TempDir folder_;
  std::vector<uint8_t> labels_ = std::vector<uint8_t>(kImages);
  DataPlan plan_;
};

TEST_F(OpenLabelsTest, LabelsAreUniformOrFollowTheDataset) {
  constexpr int64_t kDraws = 21000;
  const auto counts = [&](DataConfig::LabelDraw draw, Purpose noise) {
    return at::bincount(Labels(draw, noise, 0, {.first = 0, .count = kDraws}),
                        {}, /*minlength=*/3);
  };
  const auto expect = [&](const at::Tensor& found, const at::Tensor& wanted) {
    // The tolerance is five standard deviations.
    EXPECT_LT((found - wanted).abs().max().item<int64_t>(), 350) << found;
  };
  const at::Tensor uniform = torch::tensor({7000, 7000, 7000});
  const at::Tensor as_dataset = torch::tensor({18000, 3000, 0});
  for (const Purpose noise : {Purpose::kGeneratorNoise,
                              Purpose::kDiscriminatorNoise, Purpose::kSample}) {
    expect(counts(DataConfig::UNIFORM, noise), uniform);
    expect(counts(DataConfig::AS_DATASET, noise), as_dataset);
  }
  expect(counts(DataConfig::AS_REAL_BATCH, Purpose::kSample), as_dataset);
}

TEST_F(OpenLabelsTest, GeneratedImagesUseTheLabelsOfTheRealBatch) {
  const DataOrder order(kSeed, kImages);
  for (const auto& [noise, batch] :
       {std::pair{Purpose::kGeneratorNoise, int64_t{8}},
        std::pair{Purpose::kDiscriminatorNoise, int64_t{4}}}) {
    const at::Tensor labels_N = Labels(DataConfig::AS_REAL_BATCH, noise, 3,
                                       {.first = 1, .count = batch - 1});
    for (int64_t i = 1; i < batch; ++i) {
      EXPECT_EQ(labels_N[i - 1].item<int64_t>(),
                labels_[order.ImageOfSample(3 * batch + i)]);
    }
  }
}

TEST_F(OpenLabelsTest, LabelsOfTheRealBatchFollowDataOrder) {
  plan_.files.set_order(DataConfig::SHARDS);
  plan_.files.set_shuffle_window(16);
  const DataOrder order(kSeed, ImageUnits{.size = kImages, .window = 16});
  const at::Tensor labels_N =
      Labels(DataConfig::AS_REAL_BATCH, Purpose::kGeneratorNoise, 0,
             {.first = 0, .count = kImages});
  for (int64_t i = 0; i < kImages; ++i) {
    EXPECT_EQ(labels_N[i].item<int64_t>(), labels_[order.ImageOfSample(i)]);
  }
}

TEST(ConditionsTest, NarrowSelectsAPartOfEachCondition) {
  const at::Tensor images = torch::arange(12).view({4, 1, 1, 3});
  const Condition part =
      Narrow({.labels_N = torch::arange(4), .images_NCHW = images}, 1, 2);
  EXPECT_TRUE(at::equal(part.labels_N, torch::arange(1, 3)));
  EXPECT_TRUE(at::equal(part.images_NCHW, images.narrow(0, 1, 2)));
  EXPECT_FALSE(Narrow({}, 1, 2).labels_N.defined());
}

// Tests that conditions stay with their images on every path through a run.

// Returns pixels that encode labels exactly.
at::Tensor PixelsOf(const at::Tensor& labels_N) {
  return (labels_N.to(at::kFloat) / 8)
      .view({-1, 1, 1, 1})
      .expand({-1, 1, 2, 2});
}

// Returns an image that encodes `condition`.
at::Tensor Shown(const Condition& condition) {
  return condition.images_NCHW.defined() ? condition.images_NCHW
                                         : PixelsOf(condition.labels_N);
}

// A generator whose images encode their condition.
class Painter : public Generator {
 public:
  Painter() : bias_(register_parameter("bias", torch::zeros({1}))) {}
  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode) override {
    const at::Tensor images_NCHW = Shown(condition);
    EXPECT_EQ(images_NCHW.size(0), noise_NZ.size(0));
    return images_NCHW + 0 * bias_;
  }
  int64_t noise_dim() const override { return 1; }

 private:
  at::Tensor bias_;
};

// Counts the images whose encoded condition is not the given one.
class ConditionsReader : public Discriminator {
 public:
  struct Counts {
    int64_t trained = 0;
    int64_t judged = 0;
    int64_t wrong = 0;
  };

  explicit ConditionsReader(Counts* counts)
      : counts_(counts),
        scale_(register_parameter("scale", torch::ones({1}))) {}

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    const int64_t count = images_NCHW.size(0);
    (mode == ForwardMode::kTrain ? counts_->trained : counts_->judged) += count;
    const at::Tensor shown_NCHW = Shown(condition);
    if (shown_NCHW.size(0) != count) {
      counts_->wrong += count;
    } else {
      const at::Tensor equal = images_NCHW.detach().eq(shown_NCHW);
      counts_->wrong += count - equal.flatten(1).all(1).sum().item<int64_t>();
    }
    return {.logits = images_NCHW.mean({1, 2, 3}) * scale_};
  }

 private:
  Counts* const counts_;
  at::Tensor scale_;
};

std::unique_ptr<Optimizer> AdamFor(const torch::nn::Module& network) {
  OptimizerConfig config;
  config.mutable_adam();
  return MakeOptimizer(config, ParametersOf(network), {});
}

constexpr int64_t kRounds = 6;
constexpr int64_t kConditionsSteps = 2;
constexpr int64_t kConditionsBatch = 6;

// A dataset of different images, each paired with itself.
class ConditionsNumbers : public Dataset {
 public:
  int64_t size() const override { return 29; }
  ImageShape shape() const override {
    return {.channels = 2, .height = 2, .width = 2};
  }
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& /*stored*/,
                                 std::optional<SampleKey> /*key*/,
                                 std::span<float> out) const override {
    std::ranges::fill(out, static_cast<float>(index) / 64);
    return kNoLabel;
  }
  absl::StatusOr<std::string> ContentHash() const override { return "numbers"; }
};

ConditionSource Inputs() {
  const DataPlan plan = {.shape = DataShapeOf(DataConfig()),
                         .seed = kSeed,
                         .generator_batch = kConditionsSteps * kConditionsBatch,
                         .discriminator_batch = kConditionsBatch};
  return InputsOf(std::make_shared<PairReader>(
      plan, std::make_shared<ConditionsNumbers>(), Compute{}));
}

Condition RealCondition(int64_t step, bool pairs) {
  const at::Tensor labels_N =
      (torch::arange(kConditionsBatch) * 3 + step).remainder(kClasses);
  if (!pairs) return {.labels_N = labels_N};
  return {.images_NCHW = PixelsOf(labels_N)};
}

// consistency, source of images, feedback, pairs instead of labels
using ConditionsCell = std::tuple<Consistency, ImageSource, FeedbackMode, bool>;

class FollowTest : public ::testing::TestWithParam<ConditionsCell> {};

TEST_P(FollowTest, ConditionsFollowTheImages) {
  const auto& [consistency, source, feedback, pairs] = GetParam();
  const bool bounded = consistency == Consistency::kBounded;
  const Schedule schedule{
      .lag = 2,
      .discriminator_steps_per_round = kConditionsSteps,
      .consistency = consistency,
      .image_source = source,
      .feedback = feedback,
      .generator_batch = kConditionsSteps * kConditionsBatch,
      .discriminator_batch = kConditionsBatch,
      .generator_micro_batch = 5,
      .discriminator_micro_batch = 4};
  const TensorFormat format{.channels = 1, .height = 2, .width = 2};
  const ExchangeOptions exchange{.schedule = schedule,
                                 .max_samples_per_image = bounded ? 2 : 1,
                                 .image_format = format,
                                 .feedback_format = format};
  const RunPlan plan{.exchange = exchange};
  ASSERT_OK_AND_ASSIGN(const auto ends,
                       ExchangeEnds::Create(COLOCATED, exchange, {}));
  RoundGate gate(0, kRounds);
  int64_t replayed = 0;
  const RoleServices services{.gate = &gate,
                              .report = [&](const RoundMetrics& metrics) {
                                if (metrics.role() == DISCRIMINATOR) {
                                  replayed = metrics.images_replayed();
                                }
                              }};
  const Compute compute;
  const ConditionSource conditions =
      pairs ? Inputs() : KeyedLabels(kSeed, kClasses, at::kCPU);
  ConditionsReader::Counts counts;

  const auto new_critic = [&]() -> absl::StatusOr<Critic> {
    return Critic{.network = std::make_shared<ConditionsReader>(&counts),
                  .compute = compute};
  };

  const auto generator = std::make_shared<Painter>();
  const auto average = std::make_shared<Painter>();
  GeneratorRole generator_role(
      plan, {},
      {.network = generator,
       .average = average,
       .compute = compute,
       .new_critic = new_critic,
       .ema = std::make_unique<Ema>(Ema::Options{}, *generator, *average),
       .optimizer = AdamFor(*generator),
       .noise = KeyedNoise(kSeed, 1, compute),
       .condition = conditions},
      ends->generator(), services);
  const auto discriminator = std::make_shared<ConditionsReader>(&counts);
  DiscriminatorRole discriminator_role(
      plan, {},
      {.network = discriminator,
       .compute = compute,
       .new_critic = new_critic,
       .optimizer = AdamFor(*discriminator),
       .real_images = [pairs = pairs](int64_t step, absl::Time)
           -> absl::StatusOr<RealImages> {
         const Condition condition = RealCondition(step, pairs);
         return RealImages{.images_NCHW = Shown(condition),
                           .condition = condition};
       },
       .condition = conditions},
      ends->discriminator(), services);
  TrainingRole* const roles[] = {&generator_role, &discriminator_role};
  ASSERT_OK(RunRoles(roles, {}));

  EXPECT_EQ(counts.wrong, 0);
  EXPECT_EQ(counts.trained, 2 * kRounds * kConditionsSteps * kConditionsBatch);
  EXPECT_EQ(counts.judged, kRounds * kConditionsSteps * kConditionsBatch);
  EXPECT_EQ(replayed > 0, bounded);
}

INSTANTIATE_TEST_SUITE_P(
    Grid, FollowTest,
    ::testing::Combine(
        ::testing::Values(Consistency::kExact, Consistency::kBounded),
        ::testing::Values(ImageSource::kReused, ImageSource::kFresh),
        ::testing::Values(FeedbackMode::kSnapshot,
                          FeedbackMode::kImageGradient),
        ::testing::Bool()));

}  // namespace
}  // namespace gandem
