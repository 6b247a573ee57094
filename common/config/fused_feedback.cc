// SPDX-License-Identifier: Apache-2.0
#include "common/config/fused_feedback.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/config/loss_needs.h"
#include "common/config/validate_parts.h"

namespace gandem {
namespace {

constexpr absl::string_view kOtherwise =
    ", or schedule.feedback=IMAGE_GRADIENT, which judges apart from training";

void CheckFusedSchedule(const ScheduleConfig& schedule, Faults& faults) {
  if (schedule.lag() != 1) {
    faults.Add(absl::StrCat(
        "schedule.feedback FUSED judges an image by the version that trains on "
        "it, which is lag 1, and schedule.lag is ",
        schedule.lag(), ": set schedule.lag=1", kOtherwise));
  }
  if (schedule.image_source() != ScheduleConfig::REUSED) {
    faults.Add(absl::StrCat(
        "schedule.feedback FUSED judges the images that the discriminator "
        "trains on, and those of schedule.image_source ",
        ScheduleConfig::ImageSource_Name(schedule.image_source()),
        " are not the generator step's own: set schedule.image_source=REUSED",
        kOtherwise));
  }
  if (schedule.consistency() != ScheduleConfig::EXACT) {
    faults.Add(absl::StrCat(
        "schedule.feedback FUSED answers each image in the one step that "
        "trains on it, and schedule.consistency ",
        ScheduleConfig::Consistency_Name(schedule.consistency()),
        " drops images and repeats them: set schedule.consistency=EXACT",
        kOtherwise));
  }
}

// Each of the R slices of the generator's batch gets its own feedback.
void CheckFusedSlices(const RunConfig& config, Faults& faults) {
  const int64_t steps = config.schedule().discriminator_steps_per_round();
  if (steps == 1) return;
  const auto refuse = [&](absl::string_view what) {
    faults.Add(absl::StrCat(
        what,
        " compares the images of a whole batch, and schedule.feedback FUSED "
        "judges those of each of ",
        steps,
        " discriminator steps by themselves: set "
        "schedule.discriminator_steps_per_round=1",
        kOtherwise));
  };
  if (NeedsOf(config.loss()).whole_batch) {
    refuse(absl::StrCat("loss ", Loss_Name(config.loss())));
  }
  const auto family = config.class_loss().family();
  if (NeedsOf(family).whole_batch) {
    refuse(absl::StrCat("class_loss.family ",
                        ClassLossConfig::Family_Name(family)));
  }
}

}  // namespace

bool RealImagesFirst(const RunConfig& config) {
  return config.schedule().feedback() != ScheduleConfig::FUSED ||
         NeedsOf(config.loss()).real_images_in_generator_step ||
         config.penalties().gradient_penalty() > 0 ||
         (config.penalties().lecam() > 0 &&
          config.penalties().lecam_moves_first());
}

std::string WhyTwoPasses(const RunConfig& config) {
  if (NeedsOf(config.loss()).real_images_in_generator_step) {
    return absl::StrCat("loss ", Loss_Name(config.loss()));
  }
  const NetworkConfig& network = config.discriminator().network();
  if (network.has_own()) return "discriminator.network.own";
  if (DiscriminatorHasBatchNorm(network)) {
    return "batch norm in discriminator.network";
  }
  if (DiscriminatorComparesImages(network)) {
    return "deviation_group in discriminator.network.stylegan2";
  }
  const PenaltyConfig& penalties = config.penalties();
  if (penalties.r2() > 0) return absl::StrCat("penalties.r2 ", penalties.r2());
  if (penalties.lecam() > 0) {
    return absl::StrCat("penalties.lecam ", penalties.lecam());
  }
  if (penalties.consistency_generated() > 0) {
    return absl::StrCat("penalties.consistency_generated ",
                        penalties.consistency_generated());
  }
  if (config.class_loss().family() != ClassLossConfig::NONE) {
    return absl::StrCat(
        "class_loss.family ",
        ClassLossConfig::Family_Name(config.class_loss().family()));
  }
  if (config.discriminator().precision() == RoleConfig::FLOAT16) {
    return "discriminator.precision FLOAT16";
  }
  return "";
}

ScheduleConfig::FusedBackward FusedBackwardOf(const RunConfig& config) {
  const ScheduleConfig& schedule = config.schedule();
  if (schedule.feedback() != ScheduleConfig::FUSED ||
      schedule.fused_backward() != ScheduleConfig::AUTO) {
    return schedule.fused_backward();
  }
  return WhyTwoPasses(config).empty() &&
                 !config.discriminator().network().has_python()
             ? ScheduleConfig::ONE_PASS
             : ScheduleConfig::TWO_PASSES;
}

void CheckFused(const RunConfig& config, Faults& faults) {
  const ScheduleConfig& schedule = config.schedule();
  const auto backward = schedule.fused_backward();
  if (schedule.feedback() != ScheduleConfig::FUSED) {
    if (backward == ScheduleConfig::AUTO) return;
    faults.Add(absl::StrCat(
        "schedule.fused_backward ",
        ScheduleConfig::FusedBackward_Name(backward),
        " goes with schedule.feedback FUSED, and that is ",
        ScheduleConfig::FeedbackMode_Name(schedule.feedback()),
        ": set schedule.fused_backward=AUTO, or schedule.feedback=FUSED"));
    return;
  }
  CheckFusedSchedule(schedule, faults);
  CheckFusedSlices(config, faults);
  const std::string why = WhyTwoPasses(config);
  if (backward == ScheduleConfig::ONE_PASS && !why.empty()) {
    faults.Add(
        absl::StrCat("schedule.fused_backward ONE_PASS is not exact with ", why,
                     ": set schedule.fused_backward=AUTO"));
  }
}

}  // namespace gandem
