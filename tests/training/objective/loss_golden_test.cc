// SPDX-License-Identifier: Apache-2.0
//
// Compares losses, penalties and augmentation with an independent PyTorch
// script (tests/oracles/loss_goldens.py): values and gradients in float64.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/golden.h"
#include "tests/training/objective/small_critics.h"
#include "training/objective/class_losses.h"
#include "training/objective/diff_augment.h"
#include "training/objective/losses.h"
#include "training/objective/penalties.h"

namespace gandem {
namespace {

using gandem::testing::Golden;
using gandem::testing::RelativeError;
using gandem::testing::SmoothCritic;

constexpr double kTolerance = 1e-10;

at::Tensor Leaf(const at::Tensor& tensor) {
  return tensor.detach().clone().set_requires_grad(true);
}

const Golden& Goldens() {
  static const Golden* const golden = new Golden("losses.safetensors");
  return *golden;
}

void ExpectGolden(const std::string& name, const at::Tensor& actual) {
  EXPECT_LE(RelativeError(actual, Goldens().Get(name)), kTolerance) << name;
}

TEST(LossGoldenTest, AdversarialLossesEqualTheOracle) {
  for (const std::string shape : {"flat", "patch"}) {
    for (int i = 0; i < Loss_descriptor()->value_count(); ++i) {
      const Loss loss =
          static_cast<Loss>(Loss_descriptor()->value(i)->number());
      const std::string key =
          absl::StrCat(shape, ".", absl::AsciiStrToLower(Loss_Name(loss)), ".");
      const at::Tensor real = Leaf(Goldens().Get(shape + ".real"));
      at::Tensor generated = Leaf(Goldens().Get(shape + ".generated"));
      const int64_t batch = real.size(0);
      const bool pairs = IsRelativistic(loss);

      const at::Tensor discriminator =
          pairs ? DiscriminatorPairLoss(loss, real, generated)
                : RealLoss(loss, real, batch) +
                      GeneratedLoss(loss, generated, batch);
      discriminator.backward();
      ExpectGolden(key + "discriminator", discriminator);
      ExpectGolden(key + "discriminator_real", real.grad());
      ExpectGolden(key + "discriminator_generated", generated.grad());

      generated = Leaf(generated);
      const at::Tensor generator =
          pairs ? GeneratorPairLoss(loss, real.detach(), generated)
                : GeneratorLoss(loss, generated, batch);
      generator.backward();
      ExpectGolden(key + "generator", generator);
      ExpectGolden(key + "generator_gradient", generated.grad());
    }
  }
}

TEST(LossGoldenTest, ClassLossesEqualTheOracle) {
  const struct {
    const char* name;
    double temperature;
    double margin;  // 2: contrastive
    bool shift;
  } kCases[] = {{"contrastive_1", 1, 2, false},
                {"contrastive_half", 0.5, 2, false},
                {"d2d_shifted", 0.5, 0.98, true},
                {"d2d_plain", 0.5, 0.98, false},
                {"d2d_negative_margin", 0.25, -0.2, false}};
  for (const auto& [name, temperature, margin, shift] : kCases) {
    const std::string key = absl::StrCat("class.", name, ".losses");
    const at::Tensor embeddings = Leaf(Goldens().Get("class.embeddings"));
    const at::Tensor proxies = Leaf(Goldens().Get("class.proxies"));
    const at::Tensor labels = Goldens().Get("class.labels");
    const at::Tensor losses =
        margin == 2
            ? ContrastiveLosses(embeddings, proxies, labels, temperature)
            : D2dCrossEntropyLosses(embeddings, proxies, labels, temperature,
                                    margin, shift);
    losses.mean().backward();
    ExpectGolden(key, losses);
    ExpectGolden(key + "_embeddings", embeddings.grad());
    ExpectGolden(key + "_proxies", proxies.grad());
  }
}

class PenaltyGoldenTest : public ::testing::Test {
 protected:
  at::Tensor Get(const std::string& name) {
    return Goldens().Get("penalty." + name);
  }
  Verdict Judge(const at::Tensor& images) {
    return critic_.forward(images, {}, ForwardMode::kFrozen);
  }
  at::Tensor GradientAt(const at::Tensor& images) {
    const at::Tensor leaf = Leaf(images);
    return ImageGradient(Judge(leaf).logits.One(), leaf);
  }
  void Expect(const std::string& name, const at::Tensor& penalties) {
    critic_.zero_grad();
    const at::Tensor value = penalties.mean();
    value.backward();
    ExpectGolden(absl::StrCat("penalty.", name, ".value"), value);
    for (const auto& parameter : critic_.named_parameters()) {
      ExpectGolden(absl::StrCat("penalty.", name, ".value_", parameter.key()),
                   parameter.value().grad());
    }
  }
  at::Tensor Near() {
    return Perturb(
        real_, Get("deviation").item<double>(),
        at::cat({Get("alpha").unsqueeze(1), Get("noise").flatten(1)}, 1));
  }

  SmoothCritic critic_{Goldens().Get("critic.kernel"),
                       Goldens().Get("critic.weight")};
  const at::Tensor real_ = Get("real");
  const at::Tensor generated_ = Get("generated");
};

TEST_F(PenaltyGoldenTest, GradientPenaltiesEqualTheOracle) {
  const at::Tensor between =
      Interpolate(real_, generated_, Get("alpha").unsqueeze(1));
  Expect("gradient_penalty", UnitNormPenalties(GradientAt(between)));
  EXPECT_NEAR(real_.std().item<double>(), Get("deviation").item<double>(),
              1e-12);
  Expect("dragan", UnitNormPenalties(GradientAt(Near())));
  Expect("r1", SquaredNormPenalties(GradientAt(real_)));
  Expect("r2", SquaredNormPenalties(GradientAt(generated_)));
}

TEST_F(PenaltyGoldenTest, LogitPenaltiesEqualTheOracle) {
  LecamAnchors anchors({.lecam = 1});
  anchors.Update(0, 0.25, -0.5);
  Expect("lecam",
         anchors.RealPenalties(Judge(real_).logits.One()) +
             anchors.GeneratedPenalties(Judge(generated_).logits.One()));
  Expect("consistency", ConsistencyPenalties(Judge(real_), Judge(Near())));
}

TEST(AugmentGoldenTest, DiffAugmentEqualsTheOracle) {
  const struct {
    const char* name;
    AugmentOptions options;
  } kPolicies[] = {
      {"color", {.color = true}},
      {"translation", {.translation = 0.125}},
      {"cutout", {.cutout = 0.5}},
      {"all", {.color = true, .translation = 0.125, .cutout = 0.5}}};
  const at::Tensor draws = Goldens().Get("augment.draws");
  for (const auto& [name, options] : kPolicies) {
    const at::Tensor images = Leaf(Goldens().Get("augment.images"));
    const at::Tensor seen = DiffAugment(images, options, draws);
    (seen * Goldens().Get("augment.probe")).sum().backward();
    ExpectGolden(absl::StrCat("augment.", name), seen);
    ExpectGolden(absl::StrCat("augment.", name, "_gradient"), images.grad());
  }
}

TEST(AugmentGoldenTest, ConsistencyCopiesEqualTheOracle) {
  ExpectGolden("consistency.copy",
               ConsistencyCopy(Goldens().Get("augment.images"),
                               Goldens().Get("consistency.draws")));
}

}  // namespace
}  // namespace gandem
