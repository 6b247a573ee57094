// SPDX-License-Identifier: Apache-2.0
//
// pix2pix (Isola et al. 2017) with the layers of the authors' PyTorch code
// (models.md 3.12), for square images of 2^n >= 32 pixels.
//
//   G: U-Net with n levels on Condition::images_NCHW. Convolutions halve to one
//      pixel: w, 2w, 4w, 8w ... 8w. Transposed convolutions double again, each
//      on the concatenation of its level's images and the output of the level
//      below. Dropout in the n - 5 levels above the innermost, which is the
//      only noise; tanh.
//   D: PatchGAN on the concatenation of the input image and its translation or
//      target: w@/2, 2w@/4, 4w@/8, 8w, one logit per patch of 70x70
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "common/check.h"
#include "models/families/family.h"
#include "models/layers/batch_norm.h"
#include "models/layers/drawing_layer.h"
#include "models/layers/layer.h"
#include "models/layers/weighted.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr int kLevelsWithoutDropout = 5;
constexpr int64_t kPix2pixWidest = 8;  // times the width

int64_t InputChannels(const Pix2pixConfig& config, const DataShape& data) {
  return config.input_channels() == 0 ? data.image.channels
                                      : config.input_channels();
}

template <typename Convolution>
std::shared_ptr<Layer> MakePix2pixConvolution(int64_t in_channels,
                                              int64_t out_channels,
                                              int64_t stride, bool bias) {
  return std::make_shared<Convolution>(ConvOptions{.in_channels = in_channels,
                                                   .out_channels = out_channels,
                                                   .kernel = 4,
                                                   .stride = stride,
                                                   .padding = 1,
                                                   .bias = bias});
}

const at::Tensor& ImagesOf(const Condition& condition) {
  GANDEM_CHECK(condition.images_NCHW.defined());
  return condition.images_NCHW;
}

class UnetGenerator : public Generator {
 public:
  UnetGenerator(const Pix2pixConfig& config, const DataShape& data)
      : last_(std::countr_zero(static_cast<uint64_t>(data.image.height)) - 1) {
    for (int level = 0; level <= last_; ++level) {
      const std::string name = std::to_string(level);
      down_.push_back(
          register_module("down" + name, MakeDown(config, data, level)));
    }
    for (int level = last_; level >= 0; --level) {
      const std::string name = std::to_string(level);
      up_.push_back(register_module("up" + name, MakeUp(config, data, level)));
    }
  }

  at::Tensor forward(const at::Tensor& /*noise_NZ*/, const Condition& condition,
                     ForwardMode mode) override {
    std::vector<at::Tensor> skips = {
        down_[0]->forward(ImagesOf(condition), mode)};
    for (int level = 1; level <= last_; ++level) {
      const at::Tensor x = at::leaky_relu(skips.back(), 0.2);
      skips.push_back(down_[level]->forward(x, mode));
    }
    at::Tensor x = at::relu(skips.back());
    const at::Tensor place = PlaceOf(condition);
    for (const auto& up : up_) {
      x = up->ForwardGiven(x, place, mode);
      skips.pop_back();
      if (!skips.empty()) x = Relu(at::cat({skips.back(), x}, /*dim=*/1));
    }
    return Tanh(x);
  }

  int64_t noise_dim() const override { return 0; }

 private:
  static int64_t ChannelsOf(const Pix2pixConfig& config, int level) {
    return config.width() * std::min(kPix2pixWidest, int64_t{1} << level);
  }

  // Omits the norm in the outermost and the innermost level.
  std::shared_ptr<Sequence> MakeDown(const Pix2pixConfig& config,
                                     const DataShape& data, int level) const {
    auto down = std::make_shared<Sequence>();
    const int64_t in = level == 0 ? InputChannels(config, data)
                                  : ChannelsOf(config, level - 1);
    const int64_t out = ChannelsOf(config, level);
    down->Add(
        MakePix2pixConvolution<Conv2d>(in, out, /*stride=*/2, /*bias=*/false));
    if (level > 0 && level < last_) down->Add(MakeBatchNorm(out));
    return down;
  }

  std::shared_ptr<Sequence> MakeUp(const Pix2pixConfig& config,
                                   const DataShape& data, int level) const {
    auto up = std::make_shared<Sequence>();
    const int64_t in = ChannelsOf(config, level) * (level == last_ ? 1 : 2);
    const int64_t out =
        level == 0 ? data.image.channels : ChannelsOf(config, level - 1);
    up->Add(MakePix2pixConvolution<ConvTranspose2d>(in, out, /*stride=*/2,
                                                    /*bias=*/level == 0));
    if (level > 0) up->Add(MakeBatchNorm(out));
    if (level < last_ && level >= kLevelsWithoutDropout - 1) {
      up->Add(std::make_shared<Dropout>(config.dropout()));
    }
    return up;
  }

  const int last_;                               // level of one pixel
  std::vector<std::shared_ptr<Sequence>> down_;  // by level
  std::vector<std::shared_ptr<Sequence>> up_;    // innermost first
};

class PatchDiscriminator : public Discriminator {
 public:
  PatchDiscriminator(const Pix2pixConfig& config, const DataShape& data)
      : paired_(config.paired()),
        main_(register_module("main", std::make_shared<Sequence>())) {
    int64_t channels = config.width();
    main_
        ->Add(MakePix2pixConvolution<Conv2d>(
            data.image.channels + (paired_ ? InputChannels(config, data) : 0),
            channels, /*stride=*/2, /*bias=*/true))
        .Add(&LeakyRelu);
    for (const int64_t stride : {2, 2, 1}) {
      main_
          ->Add(MakePix2pixConvolution<Conv2d>(channels, 2 * channels, stride,
                                               /*bias=*/false))
          .Add(MakeBatchNorm(2 * channels))
          .Add(&LeakyRelu);
      channels *= 2;
    }
    main_->Add(MakePix2pixConvolution<Conv2d>(channels, /*out_channels=*/1,
                                              /*stride=*/1, /*bias=*/true));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    const at::Tensor input =
        paired_ ? at::cat({ImagesOf(condition), images_NCHW}, /*dim=*/1)
                : images_NCHW;
    return {.logits = main_->forward(input, mode)};
  }

 private:
  const bool paired_;
  const std::shared_ptr<Sequence> main_;
};

}  // namespace

NetworkFamily Pix2pixFamily() {
  return MakeFamily<UnetGenerator, PatchDiscriminator>(
      {.name = "pix2pix", .init = WeightInit::kNormal},
      &NetworkConfig::pix2pix);
}

}  // namespace gandem
