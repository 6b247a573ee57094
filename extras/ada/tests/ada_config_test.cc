// SPDX-License-Identifier: Apache-2.0
//
// Faults of `augmentation.ada` that the check of a recipe reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/common/config/loss_checks.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::CheckLoss;
using gandem::testing::ExpectFault;

TEST(AdaConfigTest, ReplacesOtherAugmentations) {
  EXPECT_OK(CheckLoss("augmentation { ada {} }"));
  EXPECT_OK(CheckLoss("augmentation { ada { target: -1 p: 1 interval: 1 } }"));
  for (const std::string other :
       {"color: true", "translation: 0.125", "cutout: 0.5"}) {
    ExpectFault(absl::StrCat("augmentation { ada {} ", other, " }"),
                "augmentation.ada replaces color");
  }
}

TEST(AdaConfigTest, Ranges) {
  for (const std::string value :
       {"target: 1.1", "target: nan", "p: -0.1", "p: 1.1", "interval: 0",
        "images_to_full: 0"}) {
    const std::string field = value.substr(0, value.find(':'));
    ExpectFault(absl::StrCat("augmentation { ada { ", value, " } }"),
                absl::StrCat("augmentation.ada.", field, " "));
  }
}

// Other losses have no decision boundary at 0.
TEST(AdaConfigTest, AdaptsOnlyToLossesWithMeaningfulSigns) {
  for (const std::string loss : {"SATURATING", "HINGE"}) {
    EXPECT_OK(CheckLoss("augmentation { ada {} } loss: " + loss));
  }
  for (const std::string loss : {"LEAST_SQUARES", "WASSERSTEIN"}) {
    ExpectFault("augmentation { ada {} } loss: " + loss,
                "set augmentation.ada.adaptive=false");
    EXPECT_OK(CheckLoss(
        "augmentation { ada { p: 0.4 adaptive: false } } loss: " + loss));
  }
}

TEST(AdaConfigTest, SupportsGrayAndColor) {
  for (const int channels : {0, 1, 3}) {
    EXPECT_OK(CheckLoss(absl::StrCat(
        "augmentation { ada {} } data { channels: ", channels, " }")));
  }
  ExpectFault("augmentation { ada {} } data { channels: 4 }",
              "data.channels is 4");
}

TEST(AdaConfigTest, APairOfImagesStaysAPair) {
  const std::string pairs =
      "augmentation { ada {} } discriminator { network { pix2pix {";
  ExpectFault(pairs + "} } }", "one image of a pair only");
  EXPECT_OK(CheckLoss(pairs + " paired: false } } }"));
}

}  // namespace
}  // namespace gandem
