// SPDX-License-Identifier: Apache-2.0
//
// DCGAN, SNGAN and WGAN-GP at 64 pixels from "Performance characterization of
// GANs and multi-GANs" (B. Vemparala Narayana Murthy, 2021): Keras layers with
// biases, LeakyReLU 0.2 in both networks (models.md 3.8).
//
//   G: noise -> linear 2w -> 8w@4 -> 4w@8 -> 2w@16 -> w@32 -> image, tanh
//   D: image -> w@32 -> 2w@16 -> 4w@8 -> 8w@4 -> dropout -> linear
//
//   form     G                            D
//   DCGAN    batch norm                   batch norm except in the first layer
//   SNGAN    spectral norm and one        spectral norm in 2w and 4w; 8w has no
//            batch norm (2w)              activation and continues to 4w@2
//   WGAN_GP  as DCGAN                     layer norm over channels, same places
//
// If the report's code differs from the papers (no normalization takes effect,
// a critic with a sigmoid), this file follows the papers. Spectral norm is
// re-parametrized as in PyTorch, so its vectors differ from the report's.
#include "models/families/family.h"
#include "models/layers/batch_norm.h"
#include "models/layers/drawing_layer.h"
#include "models/layers/layer.h"
#include "models/layers/layer_norm.h"
#include "models/layers/layer_style.h"
#include "models/layers/weighted.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// The report's batch norm. Keras' momentum 0.1 is 0.9 in PyTorch.
constexpr double kKerasDcganBatchNormEps = 0.8;
constexpr double kBatchNormMomentum = 0.9;
constexpr double kLayerNormEps = 1e-3;  // Keras' default

bool HasSpectralNorm(const KerasDcganConfig& config) {
  return config.variant() == KerasDcganConfig::SNGAN;
}

std::shared_ptr<Layer> MakeKerasDcganBatchNorm(int64_t channels) {
  return std::make_shared<BatchNorm>(
      BatchNorm::Options{.num_features = channels,
                         .eps = kKerasDcganBatchNormEps,
                         .momentum = kBatchNormMomentum});
}

class KerasGenerator : public Generator {
 public:
  KerasGenerator(const KerasDcganConfig& config, const DataShape& data)
      : config_(config),
        linear_(register_module(
            "linear", MakeLinear(config.noise_dim(), 2 * config.width()))),
        main_(register_module("main", std::make_shared<Sequence>())) {
    const int64_t width = config.width();
    AddHidden(2 * width, 8 * width, /*stride=*/4);
    AddHidden(8 * width, 4 * width, /*stride=*/2);
    AddHidden(4 * width, 2 * width, /*stride=*/2);
    AddHidden(2 * width, width, /*stride=*/2);
    AddConvolution(width, data.image.channels, /*stride=*/2);
    main_->Add(&Tanh);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition&,
                     ForwardMode mode) override {
    const at::Tensor x = linear_->forward(noise_NZ, mode);
    return main_->forward(x.view({-1, 2 * config_.width(), 1, 1}), mode);
  }

  int64_t noise_dim() const override { return config_.noise_dim(); }

 private:
  void AddConvolution(int64_t in_channels, int64_t out_channels,
                      int64_t stride) {
    main_->Add(std::make_shared<ConvTranspose2d>(
        ConvOptions{.in_channels = in_channels,
                    .out_channels = out_channels,
                    .kernel = 4,
                    .stride = stride,
                    .padding = stride == 4 ? 0 : 1,
                    .spectral_norm = HasSpectralNorm(config_)}));
  }

  void AddHidden(int64_t in_channels, int64_t out_channels, int64_t stride) {
    AddConvolution(in_channels, out_channels, stride);
    if (!HasSpectralNorm(config_) || out_channels == 2 * config_.width()) {
      main_->Add(MakeKerasDcganBatchNorm(out_channels));
    }
    main_->Add(&LeakyRelu);
  }

  const KerasDcganConfig config_;
  const std::shared_ptr<Linear> linear_;
  const std::shared_ptr<Sequence> main_;
};

class KerasDiscriminator : public Discriminator {
 public:
  KerasDiscriminator(const KerasDcganConfig& config, const DataShape& data)
      : config_(config),
        main_(register_module("main", std::make_shared<Sequence>())) {
    const int64_t width = config.width();
    AddConvolution(data.image.channels, width, /*spectral_norm=*/false);
    main_->Add(&LeakyRelu);
    AddHidden(width, 2 * width);
    AddHidden(2 * width, 4 * width);
    int64_t features = 16 * 8 * width;
    if (HasSpectralNorm(config)) {
      AddConvolution(4 * width, 8 * width, /*spectral_norm=*/false);
      AddHidden(8 * width, 4 * width);
      features = 4 * 4 * width;
    } else {
      AddHidden(4 * width, 8 * width);
    }
    dropout_ =
        register_module("dropout", std::make_shared<Dropout>(config.dropout()));
    linear_ =
        register_module("linear", MakeLinear(features, /*out_features=*/1));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    const at::Tensor features = main_->forward(images_NCHW, mode).flatten(1);
    const at::Tensor kept =
        dropout_->ForwardGiven(features, PlaceOf(condition), mode);
    return {.logits = linear_->forward(kept, mode).squeeze(1)};
  }

 private:
  void AddConvolution(int64_t in_channels, int64_t out_channels,
                      bool spectral_norm) {
    main_->Add(
        std::make_shared<Conv2d>(ConvOptions{.in_channels = in_channels,
                                             .out_channels = out_channels,
                                             .kernel = 4,
                                             .stride = 2,
                                             .padding = 1,
                                             .spectral_norm = spectral_norm}));
  }

  void AddHidden(int64_t in_channels, int64_t out_channels) {
    AddConvolution(in_channels, out_channels, HasSpectralNorm(config_));
    if (config_.variant() == KerasDcganConfig::DCGAN) {
      main_->Add(MakeKerasDcganBatchNorm(out_channels));
    } else if (config_.variant() == KerasDcganConfig::WGAN_GP) {
      main_->Add(std::make_shared<LayerNorm>(
          LayerNorm::Options{.num_channels = out_channels,
                             .over = LayerNorm::Over::kPixel,
                             .eps = kLayerNormEps}));
    }
    main_->Add(&LeakyRelu);
  }

  const KerasDcganConfig config_;
  const std::shared_ptr<Sequence> main_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<Linear> linear_;
};

}  // namespace

NetworkFamily KerasDcganFamily() {
  return MakeFamily<KerasGenerator, KerasDiscriminator>(
      {.name = "keras_dcgan", .init = WeightInit::kKeras},
      &NetworkConfig::keras_dcgan);
}

}  // namespace gandem
