// SPDX-License-Identifier: Apache-2.0
//
// Checks of a recipe that uses ADA.
#include "absl/strings/str_cat.h"
#include "common/config/config_extra.h"

namespace gandem {
namespace {

// Whether a positive logit on a real image means that the discriminator is
// right.
bool SignsTellRight(Loss loss) {
  return loss == NON_SATURATING || loss == SATURATING || loss == HINGE;
}

void CheckAda(const RunConfig& config, Faults& faults) {
  const AugmentationConfig& augmentation = config.augmentation();
  if (augmentation.color() || augmentation.translation() > 0 ||
      augmentation.cutout() > 0) {
    faults.Add(
        "augmentation.ada replaces color, translation and cutout: "
        "set augmentation.color=false, augmentation.translation=0 and "
        "augmentation.cutout=0, or leave augmentation.ada out");
  }
  if (augmentation.ada().adaptive() && !SignsTellRight(config.loss())) {
    faults.Add(absl::StrCat(
        "augmentation.ada changes p by the sign of the logits on real images, "
        "which has no meaning for loss ",
        Loss_Name(config.loss()),
        ": set augmentation.ada.adaptive=false and "
        "augmentation.ada.p, or a loss of NON_SATURATING, SATURATING or "
        "HINGE"));
  }
  const int64_t channels = config.data().channels();
  if (channels != 0 && channels != 1 && channels != 3) {
    faults.Add(absl::StrCat(
        "augmentation.ada supports gray (1 channel) and color (3), but "
        "data.channels is ",
        channels, ": leave augmentation.ada out"));
  }
}

}  // namespace

ConfigExtra AdaConfigExtra() { return {.name = "ada", .check_run = &CheckAda}; }

}  // namespace gandem
