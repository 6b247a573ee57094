// SPDX-License-Identifier: Apache-2.0
//
// DCGANs with kernels of 5x5, which halve or double with stride 2 between 4x4
// and the image (models.md 3.9 and 3.11; w is the width):
//
//   RADFORD (Radford et al. 2016, the authors' code): batch norm in both, over
//     each feature of G's first layer by itself; no biases
//   WGAN_GP (Gulrajani et al. 2017, "DCGAN" in the authors' code)
//     64x64: batch norm in G, layer norm in D
//     32x32: the same without norm in D; G's first layer as RADFORD's
//     28x28: without norms; G's 8x8 is cropped to 7x7
//
//   G: linear, 8w@4 (64x64; 4w@4 below), ReLU, ... w, tanh
//   D: w, LeakyReLU, 2w ... (no norm after the first), linear over all features
//
// Convolutions are padded alike on all sides. Noise is normal, where Radford's
// was uniform.
#include "models/families/family.h"
#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/layer_norm.h"
#include "models/layers/layer_style.h"
#include "models/layers/weighted.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr int64_t kDcgan5Smallest = 4;  // height and width of the widest layer
constexpr int64_t kCropped = 7;         // a quarter of 28

enum class Dcgan5Norm { kNone, kBatch, kLayer };

struct Dcgan5Options {
  int64_t width = 0;
  int64_t noise_dim = 0;
  int64_t image_size = 0;
  int64_t image_channels = 0;
  bool bias = true;
  Dcgan5Norm generator_norm = Dcgan5Norm::kBatch;
  bool norm_of_features = false;  // of the generator's first layer
  Dcgan5Norm discriminator_norm = Dcgan5Norm::kBatch;

  int64_t widest() const { return image_size == 64 ? 8 * width : 4 * width; }
};

Dcgan5Options Dcgan5OptionsFrom(const NetworkConfig& network,
                                const DataShape& data) {
  const Dcgan5Config& config = network.dcgan5();
  const bool radford = config.form() == Dcgan5Config::RADFORD;
  const int64_t size = data.image.height;
  Dcgan5Options options = {.width = config.width(),
                           .noise_dim = config.noise_dim(),
                           .image_size = size,
                           .image_channels = data.image.channels,
                           .bias = !radford,
                           .norm_of_features = radford || size == 32};
  if (options.width == 0) options.width = radford || size == 32 ? 128 : 64;
  if (options.noise_dim == 0) options.noise_dim = radford ? 100 : 128;
  if (!radford) {
    if (size == 28) options.generator_norm = Dcgan5Norm::kNone;
    options.discriminator_norm =
        size == 64 ? Dcgan5Norm::kLayer : Dcgan5Norm::kNone;
  }
  return options;
}

template <typename Convolution>
std::shared_ptr<Layer> MakeDcgan5Convolution(const Dcgan5Options& options,
                                             int64_t in_channels,
                                             int64_t out_channels) {
  return std::make_shared<Convolution>(ConvOptions{.in_channels = in_channels,
                                                   .out_channels = out_channels,
                                                   .kernel = 5,
                                                   .stride = 2,
                                                   .padding = 2,
                                                   .output_padding = 1,
                                                   .bias = options.bias});
}

void AddNorm(Dcgan5Norm norm, int64_t channels, Sequence& sequence) {
  if (norm == Dcgan5Norm::kBatch) {
    sequence.Add(MakeBatchNorm(channels));
  } else if (norm == Dcgan5Norm::kLayer) {
    sequence.Add(std::make_shared<LayerNorm>(
        LayerNorm::Options{.num_channels = channels}));
  }
}

// 8x8 to 7x7, of which 28x28 is made.
at::Tensor Crop(at::Tensor input_NCHW) {
  return input_NCHW.narrow(2, 0, kCropped).narrow(3, 0, kCropped);
}

class Dcgan5Generator : public Generator {
 public:
  explicit Dcgan5Generator(const Dcgan5Options& options)
      : noise_dim_(options.noise_dim),
        channels_(options.widest()),
        first_(register_module("first", std::make_shared<Sequence>())),
        main_(register_module("main", std::make_shared<Sequence>())) {
    int64_t channels = channels_;
    const int64_t features = channels * kDcgan5Smallest * kDcgan5Smallest;
    first_->Add(MakeLinear(noise_dim_, features, /*style=*/{}, options.bias));
    const bool by_channel = options.generator_norm != Dcgan5Norm::kNone &&
                            !options.norm_of_features;
    if (by_channel) {
      AddNorm(options.generator_norm, channels, *main_);
      main_->Add(&Relu);
    } else {
      AddNorm(options.generator_norm, features, *first_);
      first_->Add(&Relu);
    }
    for (; channels > options.width; channels /= 2) {
      main_->Add(MakeDcgan5Convolution<ConvTranspose2d>(options, channels,
                                                        channels / 2));
      AddNorm(options.generator_norm, channels / 2, *main_);
      main_->Add(&Relu);
      if (options.image_size == 28 && channels == channels_) main_->Add(&Crop);
    }
    main_
        ->Add(MakeDcgan5Convolution<ConvTranspose2d>(options, channels,
                                                     options.image_channels))
        .Add(&Tanh);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition&,
                     ForwardMode mode) override {
    const at::Tensor x = first_->forward(noise_NZ, mode);
    return main_->forward(
        x.view({-1, channels_, kDcgan5Smallest, kDcgan5Smallest}), mode);
  }

  int64_t noise_dim() const override { return noise_dim_; }

 private:
  const int64_t noise_dim_;
  const int64_t channels_;  // of the widest layer
  const std::shared_ptr<Sequence> first_;
  const std::shared_ptr<Sequence> main_;
};

class Dcgan5Discriminator : public Discriminator {
 public:
  explicit Dcgan5Discriminator(const Dcgan5Options& options)
      : main_(register_module("main", std::make_shared<Sequence>())) {
    int64_t channels = options.width;
    main_
        ->Add(MakeDcgan5Convolution<Conv2d>(options, options.image_channels,
                                            channels))
        .Add(&LeakyRelu);
    for (; channels < options.widest(); channels *= 2) {
      main_->Add(
          MakeDcgan5Convolution<Conv2d>(options, channels, 2 * channels));
      AddNorm(options.discriminator_norm, 2 * channels, *main_);
      main_->Add(&LeakyRelu);
    }
    linear_ = register_module(
        "linear", MakeLinear(channels * kDcgan5Smallest * kDcgan5Smallest,
                             /*out_features=*/1, /*style=*/{}, options.bias));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode mode) override {
    const at::Tensor features = main_->forward(images_NCHW, mode).flatten(1);
    return {.logits = linear_->forward(features, mode).squeeze(1)};
  }

 private:
  const std::shared_ptr<Sequence> main_;
  std::shared_ptr<Linear> linear_;
};

}  // namespace

NetworkFamily Dcgan5Family() {
  return MakeFamily<Dcgan5Generator, Dcgan5Discriminator>(
      {.name = "dcgan5", .init = WeightInit::kNormal}, &Dcgan5OptionsFrom);
}

}  // namespace gandem
