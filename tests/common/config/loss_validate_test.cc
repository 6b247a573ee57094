// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/config_extra.h"
#include "tests/common/config/loss_checks.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::CheckLoss;
using gandem::testing::ExpectFault;
using gandem::testing::StatusIs;
using ::testing::HasSubstr;

TEST(LossValidateTest, DefaultsAreValid) { EXPECT_OK(CheckLoss("")); }

TEST(LossValidateTest, NegativeHugeOrNanNumbersAreRefused) {
  int numbers = 0;
  for (const char* part :
       {"class_loss", "penalties", "augmentation", "paired_loss"}) {
    const auto& message =
        *RunConfig::descriptor()->FindFieldByName(part)->message_type();
    for (int i = 0; i < message.field_count(); ++i) {
      const auto& field = *message.field(i);
      if (field.cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE)
        continue;
      ++numbers;
      for (const std::string value : {"-2", "1e7", "nan"}) {
        ExpectFault(absl::StrCat(part, " { ", field.name(), ": ", value, " }"),
                    absl::StrCat(part, ".", field.name(), " "));
      }
    }
  }
  EXPECT_EQ(numbers, 3 + 10 + 2 + 2);
  ExpectFault("penalties { gradient_every_steps: 0 }",
              "penalties.gradient_every_steps 0");
  ExpectFault("penalties { lecam_start_step: -1 }",
              "penalties.lecam_start_step -1");
  ExpectFault("class_loss { weight: 0 }", "class_loss.weight 0 is not in");
}

TEST(LossValidateTest, EdgesOfRangesAreAccepted) {
  EXPECT_OK(
      CheckLoss("augmentation { color: true translation: 0.5 cutout: 1 }"));
  EXPECT_OK(CheckLoss("penalties { lecam: 1e6 lecam_decay: 0 }"));
  EXPECT_OK(CheckLoss("class_loss { margin: -1 temperature: 1e-3 }"));
}

// Trap T7: batch norm couples the images of a batch, so a penalty cannot use
// the slope of one image.
TEST(LossValidateTest, GradientPenaltiesRefuseBatchNorm) {
  for (const std::string field : {"gradient_penalty", "dragan", "r1", "r2"}) {
    const std::string penalty = absl::StrCat("penalties { ", field, ": 10 } ");
    ExpectFault(penalty + "discriminator { network { dcgan {} } }",
                absl::StrCat("penalties.", field,
                             " looks at the gradient of each image by itself"));
    ExpectFault(
        penalty +
            "discriminator { network { sndcgan { spectral_norm: false } } }",
        "batch norm in discriminator.network");
    EXPECT_OK(CheckLoss(penalty + "discriminator { network { sndcgan {} } }"));
    EXPECT_OK(CheckLoss(penalty + "discriminator { network { sngan {} } }"));
    // Batch norm in the generator is harmless.
    EXPECT_OK(CheckLoss(penalty + "discriminator { network { mlp {} } } "
                                  "generator { network { dcgan {} } }"));
  }
  EXPECT_OK(
      CheckLoss("penalties { lecam: 1 consistency_real: 10 } "
                "discriminator { network { dcgan {} } }"));
}

TEST(LossValidateTest, OnlyOneUnitSlopePenaltyIsAllowed) {
  ExpectFault("penalties { gradient_penalty: 10 dragan: 10 }",
              "set one of them to 0");
}

TEST(LossValidateTest, OnlyR1AndPathLengthPenaltiesMayHaveSecondUpdates) {
  EXPECT_OK(CheckLoss("penalties { r1: 1 lazy_update: SEPARATE }"));
  EXPECT_OK(CheckLoss("penalties { r2: 1 lazy_update: JOINED }"));
  ExpectFault("penalties { lazy_update: SEPARATE }",
              "penalties.lazy_update SEPARATE has nothing to update with");
  for (const std::string field : {"gradient_penalty", "dragan", "r2"}) {
    ExpectFault(absl::StrCat("penalties { r1: 1 lazy_update: SEPARATE ", field,
                             ": 3 }"),
                absl::StrCat("penalties.lazy_update SEPARATE is for r1 and "
                             "path_length, and penalties.",
                             field, " is 3"));
  }
}

TEST(LossValidateTest, LecamMovesFirstNeedsStepsOfOnePass) {
  const std::string lecam = "penalties { lecam: 1 lecam_moves_first: true } ";
  EXPECT_OK(CheckLoss(lecam));
  EXPECT_OK(
      CheckLoss("penalties { lecam_moves_first: true } "
                "discriminator { micro_batch: 2 }"));
  for (const std::string role : {"micro_batch: 2", "sync { interval: 2 }"}) {
    ExpectFault(lecam + "discriminator { batch_size: 8 " + role + " }",
                "penalties.lecam_moves_first needs all logits of a step");
  }
}

TEST(LossValidateTest, AWeightWithoutItsTermIsRefused) {
  ExpectFault("paired_loss { adversarial: 2 }",
              "paired_loss.adversarial 2 is the weight of the adversarial loss "
              "beside paired_loss.l1, which is 0");
}

TEST(LossValidateTest, PathLengthPenaltiesNeedStyles) {
  ExpectFault("penalties { path_length: 2 }",
              "penalties.path_length 2 is about styles, which stylegan2 alone "
              "has");
  const std::string styles =
      "data { image_size: 16 } generator { batch_size: 8 network { stylegan2 "
      "{} "
      "} } penalties { path_length: 2 ";
  EXPECT_OK(CheckLoss(absl::StrCat(styles, "}")));
  EXPECT_OK(CheckLoss(absl::StrCat(styles, "path_length_batch_shrink: 8 }")));
  ExpectFault(absl::StrCat(styles, "path_length_batch_shrink: 9 }"),
              "leaves nothing of generator.batch_size 8: expected at most 8");
  ExpectFault(absl::StrCat(styles, "path_length_every_steps: 0 }"),
              "penalties.path_length_every_steps 0");
}

TEST(ConfigExtraTest, AMissingExtraIsNamedWithTheRemedy) {
  Faults faults("config");
  EXPECT_FALSE(ConfigExtraFor("augmentation.ada", "ada", faults, {}));
  EXPECT_THAT(faults.ToStatus().message(),
              HasSubstr("augmentation.ada: this gandem was built without the "
                        "extra `ada`; run scripts/build.sh"));
}

TEST(LossValidateTest, PairsOfImagesAreNotSplit) {
  const std::string pairs = "discriminator { network { pix2pix {} } } ";
  EXPECT_OK(CheckLoss(pairs));
  for (const std::string part :
       {"augmentation { color: true }", "augmentation { translation: 0.1 }",
        "augmentation { cutout: 0.1 }", "penalties { consistency_real: 1 }",
        "penalties { consistency_generated: 1 }"}) {
    ExpectFault(pairs + part, "one image of a pair only");
    EXPECT_OK(CheckLoss(
        "discriminator { network { pix2pix { paired: false } } } " + part));
  }
}

TEST(LossValidateTest, RelativisticLossesNeedAWorkerWithRealImages) {
  for (const std::string loss :
       {"loss: RELATIVISTIC_PAIRED ", "loss: RELATIVISTIC_AVERAGE "}) {
    const std::string legal = loss + "schedule { feedback: IMAGE_GRADIENT } ";
    EXPECT_OK(CheckLoss(legal));
    ExpectFault(loss, "set schedule.feedback=IMAGE_GRADIENT");
    ExpectFault(legal + "generator { batch_size: 8 micro_batch: 4 }",
                "set generator.micro_batch=0");
    ExpectFault(legal + "discriminator { batch_size: 8 micro_batch: 4 }",
                "set discriminator.micro_batch=0");
    EXPECT_OK(
        CheckLoss(legal + "discriminator { batch_size: 8 micro_batch: 8 }"));
    ExpectFault(legal + "data { num_classes: 10 }", "data.num_classes=0");
  }
}

TEST(LossValidateTest, PairsHaveOneClass) {
  const std::string paired = "loss: RELATIVISTIC_PAIRED ";
  const std::string judged = "schedule { feedback: IMAGE_GRADIENT } ";
  const std::string classes =
      "data { num_classes: 10 generated_labels: AS_REAL_BATCH } ";
  EXPECT_OK(CheckLoss(paired + judged + classes));
  ExpectFault(paired + judged + "data { num_classes: 10 }",
              "set data.generated_labels=AS_REAL_BATCH");
  ExpectFault(paired + classes +
                  "schedule { feedback: IMAGE_GRADIENT consistency: BOUNDED }",
              "set schedule.consistency=EXACT");
  ExpectFault("loss: RELATIVISTIC_AVERAGE " + judged + classes,
              "set data.num_classes=0");
}

TEST(LossValidateTest, ClassLossesNeedLabelsAndWholeBatches) {
  for (const std::string family : {"CONTRASTIVE", "D2D_CE"}) {
    const std::string loss =
        absl::StrCat("class_loss { family: ", family, " } ");
    ExpectFault(loss, absl::StrCat("class_loss.family ", family,
                                   " needs labels: set data.num_classes"));
    const auto with = [&](const std::string& role) {
      return loss +
             "data { num_classes: 3 } discriminator { network { "
             "biggan { head: CONTRASTIVE } } " +
             role + " }";
    };
    EXPECT_OK(CheckLoss(with("")));
    ExpectFault(with("batch_size: 8 micro_batch: 4"),
                "set discriminator.micro_batch=0");
    ExpectFault(with("workers: 2"), "set discriminator.workers=1");
    ExpectFault(with("sync { interval: 2 }"), "discriminator.sync.interval=1");
    ExpectFault(with("") + " generator { workers: 2 }",
                "set generator.workers=1");
    ExpectFault(loss +
                    "data { num_classes: 3 } "
                    "discriminator { network { biggan {} } }",
                "needs a discriminator that gives embeddings");
  }
  ExpectFault("discriminator { network { biggan { head: CONTRASTIVE } } }",
              "set class_loss.family");
}

}  // namespace
}  // namespace gandem
