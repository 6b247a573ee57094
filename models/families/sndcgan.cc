// SPDX-License-Identifier: Apache-2.0
//
// The "standard CNN" of the SNGAN paper (Miyato et al. 2018, table 3) for 32
// pixels, as in StudioGAN's deep_conv: ReLU throughout, all biases.
//
//   G: noise -> linear 8w@4 -> 4w@8 -> 2w@16 -> w@32 -> image, batch norm
//   D: image -> w@32 -> w@16 -> 2w -> 2w@8 -> 4w -> 4w@4 -> 8w -> sum -> logit,
//      spectral norm in every layer, or batch norm after every convolution
#include "models/families/family.h"
#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/layer_style.h"
#include "models/layers/weighted.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// StudioGAN's constants (models.md 2.1).
constexpr double kSndcganBatchNormEps = 1e-4;
constexpr double kSpectralNormEps = 1e-6;
constexpr int64_t kSndcganSmallest = 4;  // height and width of the widest layer

class SndcganGenerator : public Generator {
 public:
  SndcganGenerator(const SndcganConfig& config, const DataShape& data)
      : noise_dim_(config.noise_dim()), widest_(8 * config.width()) {
    linear_ = register_module(
        "linear",
        MakeLinear(noise_dim_, widest_ * kSndcganSmallest * kSndcganSmallest));
    main_ = register_module("main", std::make_shared<Sequence>());
    int64_t channels = widest_;
    for (; channels > config.width(); channels /= 2) {
      main_
          ->Add(std::make_shared<ConvTranspose2d>(
              ConvOptions{.in_channels = channels,
                          .out_channels = channels / 2,
                          .kernel = 4,
                          .stride = 2,
                          .padding = 1}))
          .Add(MakeBatchNorm(channels / 2, kSndcganBatchNormEps))
          .Add(&Relu);
    }
    main_->Add(MakeConvolution(channels, data.image.channels, /*kernel=*/3))
        .Add(&Tanh);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition&,
                     ForwardMode mode) override {
    const at::Tensor x = linear_->forward(noise_NZ, mode);
    return main_->forward(
        x.view({-1, widest_, kSndcganSmallest, kSndcganSmallest}), mode);
  }

  int64_t noise_dim() const override { return noise_dim_; }

 private:
  const int64_t noise_dim_;
  const int64_t widest_;
  std::shared_ptr<Linear> linear_;
  std::shared_ptr<Sequence> main_;
};

class SndcganDiscriminator : public Discriminator {
 public:
  SndcganDiscriminator(const SndcganConfig& config, const DataShape& data)
      : spectral_norm_(config.spectral_norm()),
        main_(register_module("main", std::make_shared<Sequence>())) {
    const int64_t width = config.width();
    int64_t in_channels = data.image.channels;
    for (const int64_t channels : {width, 2 * width, 4 * width}) {
      AddConvolution(in_channels, channels, /*halve=*/false);
      AddConvolution(channels, channels, /*halve=*/true);
      in_channels = channels;
    }
    AddConvolution(in_channels, 8 * width, /*halve=*/false);
    linear_ =
        register_module("linear", std::make_shared<Linear>(Linear::Options{
                                      .in_features = 8 * width,
                                      .out_features = 1,
                                      .spectral_norm = spectral_norm_,
                                      .spectral_norm_eps = kSpectralNormEps}));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode mode) override {
    const at::Tensor features_NC = SumPool(main_->forward(images_NCHW, mode));
    return {.logits = linear_->forward(features_NC, mode).squeeze(1)};
  }

 private:
  void AddConvolution(int64_t in_channels, int64_t out_channels, bool halve) {
    main_->Add(std::make_shared<Conv2d>(
        ConvOptions{.in_channels = in_channels,
                    .out_channels = out_channels,
                    .kernel = halve ? 4 : 3,
                    .stride = halve ? 2 : 1,
                    .padding = 1,
                    .spectral_norm = spectral_norm_,
                    .spectral_norm_eps = kSpectralNormEps}));
    if (!spectral_norm_)
      main_->Add(MakeBatchNorm(out_channels, kSndcganBatchNormEps));
    main_->Add(&Relu);
  }

  const bool spectral_norm_;
  const std::shared_ptr<Sequence> main_;
  std::shared_ptr<Linear> linear_;
};

}  // namespace

NetworkFamily SndcganFamily() {
  return MakeFamily<SndcganGenerator, SndcganDiscriminator>(
      {.name = "sndcgan", .init = WeightInit::kOrthogonal},
      &NetworkConfig::sndcgan);
}

}  // namespace gandem
