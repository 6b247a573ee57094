// SPDX-License-Identifier: Apache-2.0
//
// Whole runs with every kind of loss, penalty and augmentation: decoupled
// equals colocated and both feedback modes agree, bit for bit; stop and resume
// equals the uninterrupted run (design.md section 10.1 and 10.2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using gandem::testing::Differences;
using gandem::testing::ExpectSame;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::TempDir;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kObjectiveRunsRounds = 5;

struct Objective {
  std::string name;
  std::string family;
  std::string text;           // of a RunConfig
  bool relativistic = false;  // or another loss of whole batches
};

// objective, L, FRESH and micro-batches
using ObjectiveRunsCell = std::tuple<Objective, int, bool>;

std::string ObjectiveRunsCellName(
    const ::testing::TestParamInfo<ObjectiveRunsCell>& info) {
  const auto& [objective, lag, fresh] = info.param;
  return absl::StrCat(objective.name, "_L", lag,
                      fresh ? "_FRESH_micro" : "_REUSED");
}

class ObjectiveRunsTest : public ::testing::TestWithParam<ObjectiveRunsCell> {
 protected:
  const Objective& objective() const { return std::get<0>(GetParam()); }

  RunConfig Config(ScheduleConfig::FeedbackMode feedback,
                   const std::string& text) {
    const auto& [objective, lag, fresh] = GetParam();
    RunConfig config =
        gandem::testing::SmallConfig(objective.family, folder_.path());
    config.set_rounds(kObjectiveRunsRounds);
    ScheduleConfig& schedule = *config.mutable_schedule();
    schedule.set_lag(lag);
    schedule.set_discriminator_steps_per_round(2);
    schedule.set_feedback(feedback);
    config.mutable_discriminator()->set_batch_size(4);
    config.mutable_generator()->set_batch_size(8);
    if (fresh) {
      schedule.set_image_source(ScheduleConfig::FRESH);
      config.mutable_generator()->set_batch_size(5);
      if (!objective.relativistic) {
        config.mutable_generator()->set_micro_batch(3);
        config.mutable_discriminator()->set_micro_batch(3);
      }
    }
    RunConfig more;
    EXPECT_OK(ParseTextProto(text, "objective", more));
    config.MergeFrom(more);
    EXPECT_OK(ValidateRunConfig(config));
    return config;
  }

  TempDir folder_;
};

TEST_P(ObjectiveRunsTest, AllWaysOfRunningAgree) {
  std::vector<ScheduleConfig::FeedbackMode> modes = {
      ScheduleConfig::IMAGE_GRADIENT};
  if (!objective().relativistic) modes.push_back(ScheduleConfig::SNAPSHOT);
  SavedStates first;
  for (const auto mode : modes) {
    const RunConfig config = Config(mode, objective().text);
    ASSERT_OK_AND_ASSIGN(SavedStates colocated, RunPair(config, {}));
    ASSERT_OK_AND_ASSIGN(const SavedStates decoupled,
                         RunPair(config, {.decoupled = true, .delay_seed = 7}));
    ASSERT_EQ(colocated.size(), static_cast<size_t>(kObjectiveRunsRounds));
    ExpectSame(colocated, decoupled);
    if (first.empty()) {
      first = std::move(colocated);
    } else {
      ExpectSame(first.at(kObjectiveRunsRounds),
                 colocated.at(kObjectiveRunsRounds), "the other feedback mode");
    }
  }
  ASSERT_OK_AND_ASSIGN(const SavedStates plain,
                       RunPair(Config(modes.front(), ""), {}));
  for (const auto& [file, tensors] : first.at(kObjectiveRunsRounds)) {
    EXPECT_THAT(Differences(tensors, plain.at(kObjectiveRunsRounds).at(file)),
                Not(IsEmpty()));
  }
}

TEST_P(ObjectiveRunsTest, AResumedRunEqualsTheWholeRun) {
  const RunConfig config =
      Config(ScheduleConfig::IMAGE_GRADIENT, objective().text);
  ASSERT_OK_AND_ASSIGN(const SavedStates whole, RunPair(config, {}));
  for (const int64_t rounds : {1, 3}) {
    const TempDir checkpoint;
    gandem::testing::WriteStates(whole.at(rounds), checkpoint.path());
    ASSERT_OK_AND_ASSIGN(const SavedStates resumed,
                         RunPair(config, {.decoupled = true,
                                          .first_round = rounds,
                                          .resume_from = checkpoint.path()}));
    ExpectSame(resumed.at(kObjectiveRunsRounds), whole.at(kObjectiveRunsRounds),
               absl::StrCat("from round ", rounds));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Objectives, ObjectiveRunsTest,
    ::testing::Combine(
        ::testing::Values(
            Objective{"saturating", "mlp", "loss: SATURATING"},
            Objective{"least_squares", "mlp", "loss: LEAST_SQUARES"},
            Objective{"relativistic_paired", "mlp",
                      "loss: RELATIVISTIC_PAIRED penalties { r1: 1 r2: 1 }",
                      true},
            Objective{"relativistic_paired_classes", "mlp_classes",
                      "loss: RELATIVISTIC_PAIRED penalties { r1: 1 } "
                      "data { generated_labels: AS_REAL_BATCH }",
                      true},
            Objective{"relativistic_average", "mlp",
                      "loss: RELATIVISTIC_AVERAGE augmentation { color: true }",
                      true},
            Objective{"wgan_gp", "mlp",
                      "loss: WASSERSTEIN penalties { gradient_penalty: 10 }"},
            Objective{"labels_as_real_batch", "mlp_classes",
                      "data { generated_labels: AS_REAL_BATCH }"},
            Objective{"lazy_dragan", "mlp_classes",
                      "penalties { dragan: 10 gradient_every_steps: 3 }"},
            Objective{
                "lecam", "mlp",
                "loss: HINGE penalties { lecam: 0.3 lecam_start_step: 3 }"},
            Objective{"lecam_moves_first", "mlp",
                      "loss: HINGE penalties { lecam: 0.3 lecam_start_step: 3 "
                      "lecam_moves_first: true }",
                      true},
            Objective{"second_updates", "mlp",
                      "penalties { r1: 1 gradient_every_steps: 3 "
                      "lazy_update: SEPARATE }"},
            Objective{"consistency", "mlp",
                      "penalties { consistency_real: 10 "
                      "consistency_generated: 10 }"},
            Objective{"augmented", "mlp",
                      "augmentation { color: true translation: 0.125 "
                      "cutout: 0.5 }"},
            // The probability p changes within the run.
            Objective{"ada", "mlp",
                      "augmentation { ada { target: 0.2 p: 0.5 interval: 2 "
                      "images_to_full: 100 } }"}),
        ::testing::Values(0, 1, 2), ::testing::Bool()),
    ObjectiveRunsCellName);
// A convolutional network covers memory layouts and spectral norm.
INSTANTIATE_TEST_SUITE_P(
    Convolutional, ObjectiveRunsTest,
    ::testing::Combine(
        ::testing::Values(Objective{
            "wgan_gp_augmented", "sndcgan",
            "loss: WASSERSTEIN penalties { gradient_penalty: 10 } "
            "augmentation { color: true translation: 0.125 } "
            "generator { layout: CHANNELS_LAST } "
            "discriminator { layout: CHANNELS_LAST }"}),
        ::testing::Values(1), ::testing::Bool()),
    ObjectiveRunsCellName);

// Covers mixed styles, noise and path lengths.
INSTANTIATE_TEST_SUITE_P(
    Styles, ObjectiveRunsTest,
    ::testing::Combine(::testing::Values(Objective{
                           "second_updates_of_both", "stylegan2",
                           "penalties { r1: 1 gradient_every_steps: 2 "
                           "lazy_update: SEPARATE }"}),
                       ::testing::Values(1), ::testing::Values(true)),
    ObjectiveRunsCellName);

// Both roles read the inputs separately. Dropout has one layer at this size.
INSTANTIATE_TEST_SUITE_P(
    Translation, ObjectiveRunsTest,
    ::testing::Combine(::testing::Values(Objective{"paired_l1", "pix2pix",
                                                   "paired_loss { l1: 100 }"}),
                       ::testing::Values(0, 2), ::testing::Bool()),
    ObjectiveRunsCellName);
INSTANTIATE_TEST_SUITE_P(
    TranslationElsewhere, ObjectiveRunsTest,
    ::testing::Combine(
        ::testing::Values(Objective{"paired_l1_two_layouts", "pix2pix",
                                    "paired_loss { l1: 100 } "
                                    "discriminator { layout: CHANNELS_LAST }"},
                          Objective{"paired_l1_relativistic", "pix2pix",
                                    "loss: RELATIVISTIC_PAIRED "
                                    "paired_loss { l1: 100 }",
                                    true}),
        ::testing::Values(1), ::testing::Values(true)),
    ObjectiveRunsCellName);

// Twice the adversarial weight and twice the other weights double the gradient,
// to the bit.
TEST(PairedLossTest, TheAdversarialWeightScalesTheGradient) {
  const auto with = [](const std::string& text) {
    const TempDir folder;
    RunConfig config = gandem::testing::SmallConfig("pix2pix", folder.path());
    config.set_rounds(2);
    RunConfig more;
    EXPECT_OK(ParseTextProto(text, "objective", more));
    config.MergeFrom(more);
    EXPECT_OK(ValidateRunConfig(config));
    return RunPair(config, {}).value().at(2);
  };
  const std::string loss = "loss: LEAST_SQUARES schedule { lag: 0 } ";
  const SavedStates::mapped_type twice =
      with(loss +
           "paired_loss { l1: 100 adversarial: 2 } "
           "generator { optimizer { sgd { learning_rate: 0.0078125 } } }");
  ExpectSame(
      twice,
      with(loss +
           "paired_loss { l1: 50 } "
           "generator { optimizer { sgd { learning_rate: 0.015625 } } }"),
      "half of both, at twice the rate");
  const SavedStates::mapped_type once =
      with(loss +
           "paired_loss { l1: 100 } "
           "generator { optimizer { sgd { learning_rate: 0.0078125 } } }");
  for (const auto& [file, tensors] : twice) {
    EXPECT_THAT(Differences(tensors, once.at(file)), Not(IsEmpty())) << file;
  }
}

// Generated images are judged with the labels drawn for them.
INSTANTIATE_TEST_SUITE_P(
    Classes, ObjectiveRunsTest,
    ::testing::Combine(
        ::testing::Values(Objective{
            "contragan", "mlp_classes",
            "data { image_size: 32 } loss: HINGE "
            "class_loss { family: CONTRASTIVE } "
            "generator { network { biggan { width: 4 attention: false } } } "
            "discriminator { network { biggan { width: 4 attention: false "
            "head: CONTRASTIVE } } }"}),
        ::testing::Values(1), ::testing::Values(false)),
    ObjectiveRunsCellName);

}  // namespace
}  // namespace gandem
