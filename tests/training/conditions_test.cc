// SPDX-License-Identifier: Apache-2.0
#include "training/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "exchange/discriminator_end.h"
#include "exchange/in_process_exchange.h"
#include "tests/testing/status_matchers.h"
#include "training/discriminator_role.h"
#include "training/generator_role.h"
#include "training/optimizers/make_optimizer.h"
#include "training/run_roles.h"

namespace gandem {
namespace {

constexpr uint64_t kSeed = 3;
constexpr int64_t kClasses = 5;

TEST(KeyedLabelsTest, AreDrawnFromTheStreamOfEachImage) {
  const ConditionSource source = KeyedLabels(kSeed, kClasses, at::kCPU);
  const std::pair<Purpose, Purpose> purposes[] = {
      {Purpose::kGeneratorNoise, Purpose::kGeneratorLabels},
      {Purpose::kDiscriminatorNoise, Purpose::kDiscriminatorLabels},
      {Purpose::kSample, Purpose::kSampleLabels}};
  for (const auto& [noise, labels] : purposes) {
    const Condition condition = source(noise, 7, {.first = 10, .count = 20});
    EXPECT_FALSE(condition.images_NCHW.defined());
    ASSERT_EQ(condition.labels_N.sizes(), at::IntArrayRef{20});
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(condition.labels_N[i].item<int64_t>(),
                PhiloxStream(kSeed, labels, 7, 10 + i).NextBelow(kClasses));
    }
  }
}

TEST(KeyedLabelsTest, AreUniform) {
  constexpr int64_t kDraws = 50000;
  const Condition condition = KeyedLabels(kSeed, kClasses, at::kCPU)(
      Purpose::kGeneratorNoise, 0, {.first = 0, .count = kDraws});
  const at::Tensor counts = at::bincount(condition.labels_N);
  ASSERT_EQ(counts.size(0), kClasses);
  // Five standard deviations.
  EXPECT_LT((counts - kDraws / kClasses).abs().max().item<int64_t>(), 450);
}

TEST(KeyedLabelsTest, NoClassesNoLabels) {
  const Condition condition = KeyedLabels(kSeed, 0, at::kCPU)(
      Purpose::kSample, 0, {.first = 0, .count = 4});
  EXPECT_FALSE(condition.labels_N.defined());
}

TEST(ConditionsTest, NarrowTakesAPartOfWhatIsThere) {
  const at::Tensor images = torch::arange(12).view({4, 1, 1, 3});
  const Condition part =
      Narrow({.labels_N = torch::arange(4), .images_NCHW = images}, 1, 2);
  EXPECT_TRUE(at::equal(part.labels_N, torch::arange(1, 3)));
  EXPECT_TRUE(at::equal(part.images_NCHW, images.narrow(0, 1, 2)));
  EXPECT_FALSE(Narrow({}, 1, 2).labels_N.defined());
}

// --- Labels stay with their images on every way through a run ---

// Pixels that stand for labels, exactly.
at::Tensor PixelsOf(const at::Tensor& labels_N) {
  return (labels_N.to(at::kFloat) / 8)
      .view({-1, 1, 1, 1})
      .expand({-1, 1, 2, 2});
}

// Makes images that show their label.
class LabelPainter : public Generator {
 public:
  LabelPainter() : bias_(register_parameter("bias", torch::zeros({1}))) {}
  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode) override {
    EXPECT_EQ(condition.labels_N.size(0), noise_NZ.size(0));
    return PixelsOf(condition.labels_N) + 0 * bias_;
  }
  int64_t noise_dim() const override { return 1; }

 private:
  at::Tensor bias_;
};

// Counts the images that show another label than the one it is told.
class LabelReader : public Discriminator {
 public:
  struct Counts {
    int64_t trained = 0;
    int64_t judged = 0;
    int64_t wrong = 0;
  };

  explicit LabelReader(Counts* counts)
      : counts_(counts),
        scale_(register_parameter("scale", torch::ones({1}))) {}

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    const int64_t count = images_NCHW.size(0);
    (mode == ForwardMode::kTrain ? counts_->trained : counts_->judged) += count;
    const at::Tensor& labels_N = condition.labels_N;
    if (!labels_N.defined() || labels_N.size(0) != count) {
      counts_->wrong += count;
    } else {
      const at::Tensor equal = images_NCHW.detach().eq(PixelsOf(labels_N));
      counts_->wrong += count - equal.flatten(1).all(1).sum().item<int64_t>();
    }
    return {.logits_N = images_NCHW.mean({1, 2, 3}) * scale_};
  }

 private:
  Counts* const counts_;
  at::Tensor scale_;
};

std::unique_ptr<Optimizer> AdamFor(const torch::nn::Module& network) {
  OptimizerConfig config;
  config.mutable_adam();
  return *MakeOptimizer(config, ParametersOf(network), {});
}

// consistency, source of images, feedback
using Cell = std::tuple<Consistency, ImageSource, FeedbackMode>;

class LabelsTest : public ::testing::TestWithParam<Cell> {};

TEST_P(LabelsTest, FollowTheImages) {
  constexpr int64_t kRounds = 6;
  constexpr int64_t kSteps = 2;
  constexpr int64_t kBatch = 6;
  const auto& [consistency, source, feedback] = GetParam();
  const bool bounded = consistency == Consistency::kBounded;
  // Micro-batches of different sizes cut the images anew.
  const Schedule schedule{.lag = 2,
                          .discriminator_steps_per_round = kSteps,
                          .consistency = consistency,
                          .image_source = source,
                          .feedback = feedback,
                          .generator_batch = kSteps * kBatch,
                          .discriminator_batch = kBatch,
                          .generator_micro_batch = 5,
                          .discriminator_micro_batch = 4};
  const TensorFormat format{.channels = 1, .height = 2, .width = 2};
  const ExchangeOptions exchange{.schedule = schedule,
                                 .max_samples_per_image = bounded ? 2 : 1,
                                 .image_format = format,
                                 .feedback_format = format};
  ASSERT_OK_AND_ASSIGN(const auto end, DiscriminatorEnd::Create(exchange));
  ASSERT_OK_AND_ASSIGN(const auto generator_end,
                       CreateInProcessGenerator(exchange, end.get()));
  RoundGate gate(0, kRounds);
  int64_t replayed = 0;
  const RoleServices services{.gate = &gate,
                              .report = [&](const RoundMetrics& metrics) {
                                if (metrics.role() == DISCRIMINATOR) {
                                  replayed = metrics.images_replayed();
                                }
                              }};
  const Compute compute;
  const ConditionSource labels = KeyedLabels(kSeed, kClasses, at::kCPU);
  LabelReader::Counts counts;

  const auto generator = std::make_shared<LabelPainter>();
  const auto average = std::make_shared<LabelPainter>();
  GeneratorRole generator_role(
      {.schedule = schedule, .compute = compute, .sent_format = format},
      {.network = generator,
       .average = average,
       .critic = std::make_shared<LabelReader>(&counts),
       .ema = std::make_unique<Ema>(Ema::Options{}, *generator, *average),
       .optimizer = AdamFor(*generator),
       .noise = KeyedNoise(kSeed, 1, compute),
       .condition = labels},
      generator_end.get(), services);
  const auto discriminator = std::make_shared<LabelReader>(&counts);
  DiscriminatorRole discriminator_role(
      {.schedule = schedule, .compute = compute, .sent_format = format},
      {.network = discriminator,
       .older_critic = std::make_shared<LabelReader>(&counts),
       .optimizer = AdamFor(*discriminator),
       .real_images = [&](int64_t step,
                          absl::Time) -> absl::StatusOr<RealImages> {
         const at::Tensor labels_N =
             (torch::arange(kBatch) * 3 + step).remainder(kClasses);
         return RealImages{.images_NCHW = PixelsOf(labels_N),
                           .condition = {.labels_N = labels_N}};
       },
       .condition = labels},
      end.get(), services);
  RoleLoop* const roles[] = {&generator_role, &discriminator_role};
  ASSERT_OK(RunRoles(roles, {}));

  EXPECT_EQ(counts.wrong, 0);
  EXPECT_EQ(counts.trained, 2 * kRounds * kSteps * kBatch);
  EXPECT_EQ(counts.judged, kRounds * kSteps * kBatch);
  EXPECT_EQ(replayed > 0, bounded);
}

INSTANTIATE_TEST_SUITE_P(
    Grid, LabelsTest,
    ::testing::Combine(
        ::testing::Values(Consistency::kExact, Consistency::kBounded),
        ::testing::Values(ImageSource::kReused, ImageSource::kFresh),
        ::testing::Values(FeedbackMode::kSnapshot,
                          FeedbackMode::kImageGradient)));

}  // namespace
}  // namespace gandem
