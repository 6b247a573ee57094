// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/config/config_extra.h"
#include "common/config/fused_feedback.h"
#include "common/config/loss_needs.h"
#include "common/config/run_config.h"
#include "common/config/validate_parts.h"

namespace gandem {
namespace {

void CheckLossWholeBatch(const std::string& what, const std::string& role,
                         const RoleConfig& config, Faults& faults) {
  const int64_t micro = config.micro_batch();
  if (micro != 0 && micro != config.batch_size()) {
    faults.Add(absl::StrCat(what, " compares the images of a whole batch, but ",
                            role, ".micro_batch is ", micro, ": set ", role,
                            ".micro_batch=0"));
  }
  if (config.workers() > 1 || StepBatch(config) != config.batch_size()) {
    faults.Add(absl::StrCat(what, " compares the images of a whole batch: set ",
                            role, ".workers=1 and ", role, ".sync.interval=1"));
  }
}

bool GivesEmbeddings(const NetworkConfig& network) {
  return network.family_case() == NetworkConfig::kBiggan &&
         network.biggan().head() == BigganConfig::CONTRASTIVE;
}

// Checks the classes of the generated and real images that a loss compares.
void CheckLossClasses(const std::string& what, const LossNeeds& needs,
                      const RunConfig& config, Faults& faults) {
  if (!needs.real_images_in_generator_step ||
      config.data().num_classes() == 0) {
    return;
  }
  if (!needs.pairs) {
    faults.Add(absl::StrCat(
        what,
        " compares a generated image with real ones of other classes: set "
        "data.num_classes=0, or another loss"));
    return;
  }
  if (config.data().generated_labels() != DataConfig::AS_REAL_BATCH) {
    faults.Add(absl::StrCat(
        what,
        " compares generated image i with real image i, which have to be of "
        "one class: set data.generated_labels=AS_REAL_BATCH, or "
        "data.num_classes=0"));
  }
  if (config.schedule().consistency() == ScheduleConfig::BOUNDED) {
    faults.Add(absl::StrCat(
        what,
        " compares generated image i with real image i, which under BOUNDED "
        "may be of other rounds and classes: set "
        "schedule.consistency=EXACT, or data.num_classes=0"));
  }
}

void CheckNeeds(const std::string& what, const LossNeeds& needs,
                const RunConfig& config, Faults& faults) {
  if (needs.whole_batch) {
    CheckLossWholeBatch(what, "generator", config.generator(), faults);
    CheckLossWholeBatch(what, "discriminator", config.discriminator(), faults);
  }
  CheckLossClasses(what, needs, config, faults);
  if (needs.embeddings && config.data().num_classes() == 0) {
    faults.Add(absl::StrCat(what, " needs labels: set data.num_classes"));
  }
  if (needs.embeddings && !GivesEmbeddings(config.discriminator().network())) {
    faults.Add(
        absl::StrCat(what,
                     " needs a discriminator that gives embeddings: use "
                     "discriminator.network.biggan with head: CONTRASTIVE"));
  }
  if (needs.real_images_in_generator_step &&
      !AnswersImages(config.schedule().feedback())) {
    faults.Add(absl::StrCat(
        what,
        " compares with real images in the generator step, which only a "
        "discriminator worker has: set schedule.feedback=IMAGE_GRADIENT, or "
        "FUSED"));
  }
}

void CheckClassLoss(const RunConfig& config, Faults& faults) {
  if (config.class_loss().family() == ClassLossConfig::NONE &&
      GivesEmbeddings(config.discriminator().network())) {
    faults.Add(
        "discriminator.network.biggan.head CONTRASTIVE learns nothing without "
        "a loss of classes: set class_loss.family, or head=PROJECTION");
  }
}

void CheckSlopes(const PenaltyConfig& penalties, Faults& faults) {
  if (penalties.gradient_penalty() > 0 && penalties.dragan() > 0) {
    faults.Add(
        "penalties.gradient_penalty and penalties.dragan both want slopes of "
        "1, at different points: set one of them to 0");
  }
}

void CheckLossBatchNorm(const RunConfig& config, Faults& faults) {
  if (!DiscriminatorHasBatchNorm(config.discriminator().network())) return;
  const PenaltyConfig& penalties = config.penalties();
  const auto refuse = [&](absl::string_view field, double weight) {
    if (weight == 0) return;
    faults.Add(absl::StrCat(
        "penalties.", field,
        " looks at the gradient of each image by itself, and batch norm in "
        "discriminator.network mixes the images of a batch: use a "
        "discriminator with another norm or none (mlp, wgan_gp, sndcgan, "
        "sngan), or set penalties.",
        field, "=0"));
  };
  refuse("gradient_penalty", penalties.gradient_penalty());
  refuse("dragan", penalties.dragan());
  refuse("r1", penalties.r1());
  refuse("r2", penalties.r2());
}

bool HasDiffAugment(const AugmentationConfig& augmentation) {
  return augmentation.color() || augmentation.translation() > 0 ||
         augmentation.cutout() > 0;
}

// Refuses augmentations that change an image but not its translation source.
void CheckPairs(const RunConfig& config, Faults& faults) {
  const NetworkConfig& network = config.discriminator().network();
  if (network.family_case() != NetworkConfig::kPix2Pix ||
      !network.pix2pix().paired()) {
    return;
  }
  const AugmentationConfig& augmentation = config.augmentation();
  const PenaltyConfig& penalties = config.penalties();
  if (HasDiffAugment(augmentation) || augmentation.has_ada() ||
      penalties.consistency_real() > 0 ||
      penalties.consistency_generated() > 0) {
    faults.Add(
        "augmentation and penalties.consistency_* would change one image of a "
        "pair only: switch them off, or set "
        "discriminator.network.pix2pix.paired=false");
  }
}

void CheckPairedLoss(const RunConfig& config, Faults& faults) {
  const double l1 = config.paired_loss().l1();
  if (l1 != 0 && !HasPairs(config.data())) {
    faults.Add(absl::StrCat("paired_loss.l1 ", l1,
                            " compares a translated image with what it should "
                            "be: set data.idx_inputs, or paired_loss.l1=0"));
  }
  const double adversarial = config.paired_loss().adversarial();
  if (adversarial != 1 && l1 == 0) {
    faults.Add(absl::StrCat(
        "paired_loss.adversarial ", adversarial,
        " is the weight of the adversarial loss beside paired_loss.l1, which "
        "is 0: set paired_loss.l1, or paired_loss.adversarial=1"));
  }
}

void CheckLazyUpdate(const PenaltyConfig& penalties, Faults& faults) {
  if (penalties.lazy_update() != PenaltyConfig::SEPARATE) return;
  if (penalties.r1() == 0 && penalties.path_length() == 0) {
    faults.Add(
        "penalties.lazy_update SEPARATE has nothing to update with: set "
        "penalties.r1 or penalties.path_length, or "
        "penalties.lazy_update=JOINED");
  }
  const auto refuse = [&](absl::string_view field, double weight) {
    if (weight == 0) return;
    faults.Add(absl::StrCat(
        "penalties.lazy_update SEPARATE is for r1 and path_length, and "
        "penalties.",
        field, " is ", weight, ": set penalties.", field,
        "=0, or penalties.lazy_update=JOINED"));
  };
  refuse("gradient_penalty", penalties.gradient_penalty());
  refuse("dragan", penalties.dragan());
  refuse("r2", penalties.r2());
}

void CheckLecam(const RunConfig& config, Faults& faults) {
  const PenaltyConfig& penalties = config.penalties();
  const RoleConfig& role = config.discriminator();
  if (penalties.lecam() == 0 || !penalties.lecam_moves_first()) return;
  const bool whole =
      role.micro_batch() == 0 || role.micro_batch() >= role.batch_size();
  if (whole && StepBatch(role) == role.batch_size()) return;
  faults.Add(
      "penalties.lecam_moves_first needs all logits of a step before its term: "
      "set discriminator.micro_batch=0 and discriminator.sync.interval=1, or "
      "penalties.lecam_moves_first=false");
}

void CheckPathLength(const RunConfig& config, Faults& faults) {
  const PenaltyConfig& penalties = config.penalties();
  if (penalties.path_length() == 0) return;
  if (!config.generator().network().has_stylegan2()) {
    faults.Add(absl::StrCat(
        "penalties.path_length ", penalties.path_length(),
        " is about styles, which stylegan2 alone has: set "
        "generator.network.stylegan2, or penalties.path_length=0"));
  }
  const int64_t batch = config.generator().batch_size();
  if (batch < penalties.path_length_batch_shrink()) {
    faults.Add(absl::StrCat("penalties.path_length_batch_shrink ",
                            penalties.path_length_batch_shrink(),
                            " leaves nothing of generator.batch_size ", batch,
                            ": expected at most ", batch));
  }
}

void CheckAda(const RunConfig& config, Faults& faults) {
  if (!config.augmentation().has_ada()) return;
  const auto extra = ConfigExtraFor("augmentation.ada", "ada", faults);
  if (extra) extra->check_run(config, faults);
}

}  // namespace

bool DiscriminatorHasBatchNorm(const NetworkConfig& network) {
  switch (network.family_case()) {
    case NetworkConfig::kDcgan:
    case NetworkConfig::kPix2Pix:
      return true;
    case NetworkConfig::kSndcgan:
      return !network.sndcgan().spectral_norm();
    case NetworkConfig::kSngan:
      return network.sngan().norm() == SnganConfig::BATCH;
    case NetworkConfig::kKerasDcgan:
      return network.keras_dcgan().variant() == KerasDcganConfig::DCGAN;
    case NetworkConfig::kDcgan5:
      return network.dcgan5().form() == Dcgan5Config::RADFORD;
    case NetworkConfig::kMlp:
    case NetworkConfig::kWganGp:
    case NetworkConfig::kSagan:
    case NetworkConfig::kBiggan:
    case NetworkConfig::kPython:  // its file is not inspected
    case NetworkConfig::kOwn:     // unknown to the config
    case NetworkConfig::kR3Gan:
    case NetworkConfig::kStylegan2:
    case NetworkConfig::FAMILY_NOT_SET:
      break;
  }
  return false;
}

bool DiscriminatorComparesImages(const NetworkConfig& network) {
  return network.has_stylegan2() && network.stylegan2().deviation_group() > 1;
}

void CheckLosses(const RunConfig& config, Faults& faults) {
  CheckNeeds(absl::StrCat("loss ", Loss_Name(config.loss())),
             NeedsOf(config.loss()), config, faults);
  const ClassLossConfig& class_loss = config.class_loss();
  CheckNeeds(absl::StrCat("class_loss.family ",
                          ClassLossConfig::Family_Name(class_loss.family())),
             NeedsOf(class_loss.family()), config, faults);
  CheckClassLoss(config, faults);
  CheckSlopes(config.penalties(), faults);
  CheckLossBatchNorm(config, faults);
  CheckAda(config, faults);
  CheckPairs(config, faults);
  CheckPairedLoss(config, faults);
  CheckLazyUpdate(config.penalties(), faults);
  CheckLecam(config, faults);
  CheckPathLength(config, faults);
}

}  // namespace gandem
