// SPDX-License-Identifier: Apache-2.0
//
// Counts come from the reference implementations in the comments.
#include "models/registry/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "common/config/network_check.h"
#include "models/layers/layer.h"
#include "models/registry/initialize.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::CountBuffers;
using gandem::testing::CountParameters;
using gandem::testing::ParseNetwork;
using gandem::testing::SquareImages;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct RegistryCounts {
  std::string config;
  int64_t channels;
  int64_t size;
  int64_t generator;
  int64_t generator_buffers;
  int64_t discriminator;
  int64_t discriminator_buffers;
};

void PrintTo(const RegistryCounts& counts, std::ostream* out) {
  *out << counts.config << " " << counts.channels << "@" << counts.size;
}

class RegistryCountTest : public ::testing::TestWithParam<RegistryCounts> {};

TEST_P(RegistryCountTest, ParametersAndBuffersMatchTheReference) {
  const RegistryCounts& want = GetParam();
  const NetworkConfig config = ParseNetwork(want.config);
  const DataShape data = SquareImages(want.channels, want.size);
  const auto generator = MakeGenerator(config, data);
  ASSERT_TRUE(generator.ok()) << generator.status();
  EXPECT_EQ(CountParameters(**generator), want.generator);
  EXPECT_EQ(CountBuffers(**generator), want.generator_buffers);
  const auto discriminator = MakeDiscriminator(config, data);
  ASSERT_TRUE(discriminator.ok()) << discriminator.status();
  EXPECT_EQ(CountParameters(**discriminator), want.discriminator);
  EXPECT_EQ(CountBuffers(**discriminator), want.discriminator_buffers);
}

TEST_P(RegistryCountTest, NetworksMakeAndJudgeImages) {
  const NetworkConfig config = ParseNetwork(GetParam().config);
  const DataShape data = SquareImages(GetParam().channels, GetParam().size);
  const ImageShape& image = data.image;
  const auto generator = MakeGenerator(config, data);
  const auto discriminator = MakeDiscriminator(config, data);
  ASSERT_TRUE(generator.ok() && discriminator.ok());
  const torch::NoGradGuard no_grad;
  for (const ForwardMode mode :
       {ForwardMode::kTrain, ForwardMode::kFrozen, ForwardMode::kEvaluate}) {
    const at::Tensor images =
        (*generator)
            ->forward(torch::ones({2, (*generator)->noise_dim()}), {}, mode);
    EXPECT_EQ(images.sizes(),
              (at::IntArrayRef{2, image.channels, image.height, image.width}));
    EXPECT_EQ((*discriminator)->forward(images, {}, mode).logits.One().sizes(),
              at::IntArrayRef{2});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, RegistryCountTest,
    ::testing::Values(
        // pytorch/examples dcgan, nz 100.
        RegistryCounts{"dcgan {}", 3, 64, 3576704, 1924, 2765568, 1795},
        RegistryCounts{"dcgan {}", 1, 64, 3574656, 1924, 2763520, 1795},
        RegistryCounts{"dcgan { noise_dim: 128 }", 3, 64, 3806080, 1924,
                       2765568, 1795},
        // One stage less, by shape arithmetic.
        RegistryCounts{"dcgan {}", 3, 32,
                       409600 + 512 + 524288 + 256 + 131072 + 128 + 3072,
                       2 * (256 + 128 + 64) + 3,
                       3072 + 131072 + 256 + 524288 + 512 + 4096,
                       2 * (128 + 256) + 2},
        // StudioGAN deep_conv, with spectral norm and with batch norm.
        RegistryCounts{"sndcgan {}", 3, 32, 3812355, 899, 2928193, 13148},
        RegistryCounts{"sndcgan { spectral_norm: false }", 3, 32, 3812355, 899,
                       2931009, 2823},
        // mimicry sngan_32, whose shapes are those of the authors' code.
        RegistryCounts{"sngan {}", 3, 32, 4276739, 3591, 1053825, 9631},
        // By shape arithmetic.
        RegistryCounts{"mlp { hidden: 128 hidden: 256 noise_dim: 100 }", 1, 28,
                       100 * 128 + 128 + 128 * 256 + 256 + 256 * 784 + 784, 0,
                       784 * 128 + 128 + 128 * 256 + 256 + 256 + 1, 0}));

TEST(RegistryTest, SpectralNormBuffersAreCountedByKind) {
  const auto sndcgan =
      MakeDiscriminator(ParseNetwork("sndcgan {}"), SquareImages(3, 32));
  ASSERT_TRUE(sndcgan.ok());
  EXPECT_EQ(CountBuffers(**sndcgan, "weight_u"), 1409);
  EXPECT_EQ(CountBuffers(**sndcgan, "weight_v"), 11739);
  const auto sngan =
      MakeDiscriminator(ParseNetwork("sngan {}"), SquareImages(3, 32));
  ASSERT_TRUE(sngan.ok());
  EXPECT_EQ(CountBuffers(**sngan, "weight_u"), 1281);
  EXPECT_EQ(CountBuffers(**sngan, "weight_v"), 8350);
}

TEST(RegistryTest, MlpWithClassesReceivesTheLabels) {
  const NetworkConfig config = ParseNetwork("mlp { hidden: 6 noise_dim: 5 }");
  const DataShape data = {.image = SquareImages(1, 4).image, .num_classes = 3};
  const auto generator = MakeGenerator(config, data);
  const auto discriminator = MakeDiscriminator(config, data);
  ASSERT_TRUE(generator.ok() && discriminator.ok());
  EXPECT_EQ(CountParameters(**generator), (5 + 3) * 6 + 6 + 6 * 16 + 16);
  EXPECT_EQ(CountParameters(**discriminator), (16 + 3) * 6 + 6 + 6 + 1);
  InitializeParameters(**generator, config, 7);
  InitializeParameters(**discriminator, config, 7);
  const torch::NoGradGuard no_grad;
  const at::Tensor zeros_N = torch::zeros({2}, at::kLong);
  const auto differ = [&](const auto& forward) {
    return !at::equal(forward(Condition{.labels_N = zeros_N}),
                      forward(Condition{.labels_N = zeros_N + 2}));
  };
  EXPECT_TRUE(differ([&](const Condition& condition) {
    return (*generator)
        ->forward(torch::ones({2, 5}), condition, ForwardMode::kTrain);
  }));
  EXPECT_TRUE(differ([&](const Condition& condition) {
    return (*discriminator)
        ->forward(torch::ones({2, 1, 4, 4}), condition, ForwardMode::kTrain)
        .logits.One();
  }));
}

TEST(RegistryTest, NetworkConfigAndTheRegistryListTheSameFamilies) {
  std::vector<std::string> fields;
  for (const auto* const field : NetworkFamilies()) {
    fields.push_back(field->name());
  }
  std::vector<std::string> lines;
  for (const NetworkFamily& family : AllFamilies()) {
    lines.push_back(family.name);
  }
  EXPECT_EQ(lines, fields);
}

TEST(RegistryTest, HasBlocksReportsWhetherANetworkHasBlocks) {
  for (const auto* const field : NetworkFamilies()) {
    if (field->name() == "python") continue;  // made by a NetworkHost only
    NetworkConfig config;
    config.GetReflection()->MutableMessage(&config, field);
    const auto sizes = ImageSizesOf(*field);
    const DataShape data = SquareImages(1, sizes.empty() ? 32 : sizes[0]);
    const bool blocks = field->options().GetExtension(has_blocks);
    ASSERT_OK_AND_ASSIGN(const auto generator, MakeGenerator(config, data));
    ASSERT_OK_AND_ASSIGN(const auto discriminator,
                         MakeDiscriminator(config, data));
    EXPECT_EQ(RecomputeBlocks(*generator) > 0, blocks) << field->name();
    EXPECT_EQ(RecomputeBlocks(*discriminator) > 0, blocks) << field->name();
  }
}

TEST(RegistryTest, OwnNetworksNeedAProgramWithPython) {
  const NetworkConfig config =
      ParseNetwork("python { module: \"gan.py\" name: \"Net\" }");
  for (const absl::Status& status :
       {MakeGenerator(config, SquareImages(1, 32)).status(),
        MakeDiscriminator(config, SquareImages(1, 32)).status()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("'Net' of 'gan.py'")));
  }
  EXPECT_THAT(MakeGenerator(ParseNetwork("python { arguments: \"width\" }"),
                            SquareImages(1, 32))
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("network.python.module is missing"),
                             HasSubstr("network.python.name is missing"),
                             HasSubstr("'width', which is not NAME=VALUE"))));
}

TEST(RegistryTest, EveryFaultIsNamed) {
  const auto network =
      MakeGenerator(ParseNetwork("dcgan { width: 0 noise_dim: -1 }"),
                    {.image = {.channels = 0, .height = 48, .width = 32}});
  EXPECT_EQ(network.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(network.status().message(),
            "models: network.dcgan.width 0 is not in [1, 65536]; "
            "network.dcgan.noise_dim -1 is not in [1, 65536]; image channels 0 "
            "is not in [1, 1024]; network.dcgan is for images of 32 x 32 or 64 "
            "x 64, not 48 x 32 (data.image_size)");
}

TEST(RegistryTest, FamilyIsRequired) {
  for (const absl::Status& status :
       {MakeGenerator(NetworkConfig(), SquareImages(1, 32)).status(),
        MakeDiscriminator(NetworkConfig(), SquareImages(1, 32)).status()}) {
    EXPECT_THAT(
        status,
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("network is missing: set one of mlp, dcgan")));
  }
}

TEST(RegistryTest, FamiliesCheckTheirOptions) {
  const struct {
    const char* config;
    int64_t size;
    const char* fault;
  } kCases[] = {
      {"sngan {}", 256, "sngan is for images of 32 x 32 or 48 x 48"},
      {"sndcgan {}", 64, "sndcgan is for images of 32 x 32, not 64 x 64"},
      {"sngan { batch_norm_eps: 0 }", 32, "batch_norm_eps 0 is not in (0, 1]"},
      {"sngan { spectral_norm_eps: 0 }", 32,
       "spectral_norm_eps 0 is not in (0, 1]"},
      {"sngan { norm: BATCH shortcut: RECTIFIED }", 32,
       "shortcut RECTIFIED is not defined with norm BATCH"},
      {"keras_dcgan { dropout: 1 }", 64, "dropout 1 is not in [0, 1)"},
      {"pix2pix { dropout: 1 }", 64, "dropout 1 is not in [0, 1)"},
      {"mlp {}", 4096, "mlp is for images of at most 16777216 values"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(
        MakeDiscriminator(ParseNetwork(c.config), SquareImages(3, c.size))
            .status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.fault)))
        << c.config;
  }
}

TEST(RegistryTest, LabelsAreOnlyForFamiliesThatUseThem) {
  const DataShape data = {.image = SquareImages(3, 64).image,
                          .num_classes = 10};
  EXPECT_THAT(MakeGenerator(ParseNetwork("dcgan {}"), data).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("network.dcgan cannot be told labels")));
}

}  // namespace
}  // namespace gandem
