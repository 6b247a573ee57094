// SPDX-License-Identifier: Apache-2.0
//
// DCGANs with 5x5 kernels and stride 2 (models.md 3.9, 3.11; w is the width):
//
//   RADFORD (Radford et al. 2016, the authors' code)
//     batch norm in both, per feature in G's first layer; no biases
//   WGAN_GP (Gulrajani et al. 2017, "DCGAN" in the authors' code)
//     64x64: batch norm in G, layer norm in D
//     32x32: batch norm in G, no norm in D; G's first layer as in RADFORD
//     28x28: no norms; G's 8x8 is cropped to 7x7
//
//   G: linear, 8w@4 (64x64; 4w@4 below), ReLU, ... w, tanh
//   D: w, LeakyReLU, 2w ... (no norm after the first), linear over all features
//
// Convolutions are padded symmetrically, or with TensorFlow's SAME. Noise is
// normal (Radford's was uniform).
//
// Initial values of WGAN_GP are uniform: with standard deviation 0.02 at 64x64;
// otherwise Glorot's in linear layers and He's in convolutions.
#include <cmath>

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
constexpr int64_t kDcgan5Kernel = 5;    // height and width
constexpr double kDeviationAt64 = 0.02;

enum class Dcgan5Norm { kNone, kBatch, kLayer };

struct Dcgan5Options {
  int64_t width = 0;
  int64_t noise_dim = 0;
  int64_t image_size = 0;
  int64_t image_channels = 0;
  bool bias = true;
  bool same_padding = false;  // TensorFlow's SAME
  Dcgan5Norm generator_norm = Dcgan5Norm::kBatch;
  bool norm_of_features = false;  // in the generator's first layer
  Dcgan5Norm discriminator_norm = Dcgan5Norm::kBatch;

  int64_t widest() const { return image_size == 64 ? 8 * width : 4 * width; }
};

Dcgan5Options Dcgan5OptionsFrom(const NetworkConfig& network,
                                const DataShape& data) {
  const Dcgan5Config& config = network.dcgan5();
  const bool radford = config.form() == Dcgan5Config::RADFORD;
  const int64_t size = data.image.height;
  Dcgan5Options options = {
      .width = config.width(),
      .noise_dim = config.noise_dim(),
      .image_size = size,
      .image_channels = data.image.channels,
      .bias = !radford,
      .same_padding = config.padding() == Dcgan5Config::SAME,
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

// Returns `deviation` divided by kGlorot's deviation, sqrt(2 / fans).
double GainFor(double deviation, double fans) {
  return deviation * std::sqrt(fans / 2);
}

// Returns the gain of a convolution between `coarse` and twice as large `fine`
// images. A quarter of the kernel reaches each fine pixel.
double ConvolutionGain(const Dcgan5Options& options, double fine,
                       double coarse) {
  constexpr double kPixels = kDcgan5Kernel * kDcgan5Kernel;
  const double deviation = options.image_size == 64
                               ? kDeviationAt64
                               : 2 / std::sqrt(kPixels * (fine + coarse / 4));
  return GainFor(deviation, kPixels * (fine + coarse));
}

std::shared_ptr<Linear> MakeDcgan5Linear(const Dcgan5Options& options,
                                         int64_t in_features,
                                         int64_t out_features) {
  const auto fans = static_cast<double>(in_features + out_features);
  return MakeLinear(
      in_features, out_features,
      {.init_gain =
           options.image_size == 64 ? GainFor(kDeviationAt64, fans) : 1},
      options.bias);
}

// Implements TensorFlow's SAME padding, which puts the larger half of an odd
// number of zero rows or columns at the end.
class SameConv2d : public Conv2d {
 public:
  using Conv2d::Conv2d;
  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) override {
    const int64_t before = input_NCHW.size(2) % 2 == 0 ? 1 : 2;
    return Conv2d::forward(
        at::constant_pad_nd(input_NCHW, {before, 2, before, 2}), mode);
  }
};

// Transpose of SameConv2d for images of twice the size.
class SameConvTranspose2d : public ConvTranspose2d {
 public:
  using ConvTranspose2d::ConvTranspose2d;
  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) override {
    return ConvTranspose2d::forward(input_NCHW, mode)
        .narrow(2, 0, 2 * input_NCHW.size(2))
        .narrow(3, 0, 2 * input_NCHW.size(3));
  }
};

std::shared_ptr<Layer> MakeDown(const Dcgan5Options& options,
                                int64_t in_channels, int64_t out_channels) {
  ConvOptions conv = {
      .in_channels = in_channels,
      .out_channels = out_channels,
      .kernel = kDcgan5Kernel,
      .stride = 2,
      .padding = 2,
      .bias = options.bias,
      .init_gain = ConvolutionGain(options, in_channels, out_channels)};
  if (!options.same_padding) return std::make_shared<Conv2d>(conv);
  conv.padding = 0;
  return std::make_shared<SameConv2d>(conv);
}

std::shared_ptr<Layer> MakeUp(const Dcgan5Options& options, int64_t in_channels,
                              int64_t out_channels) {
  ConvOptions conv = {
      .in_channels = in_channels,
      .out_channels = out_channels,
      .kernel = kDcgan5Kernel,
      .stride = 2,
      .padding = 2,
      .output_padding = 1,
      .bias = options.bias,
      .init_gain = ConvolutionGain(options, out_channels, in_channels)};
  if (!options.same_padding) return std::make_shared<ConvTranspose2d>(conv);
  conv.padding = 1;
  conv.output_padding = 0;
  return std::make_shared<SameConvTranspose2d>(conv);
}

void AddNorm(Dcgan5Norm norm, int64_t channels, Sequence& sequence) {
  if (norm == Dcgan5Norm::kBatch) {
    sequence.Add(MakeBatchNorm(channels));
  } else if (norm == Dcgan5Norm::kLayer) {
    sequence.Add(std::make_shared<LayerNorm>(
        LayerNorm::Options{.num_channels = channels}));
  }
}

// Crops 8x8 to 7x7, a quarter of 28x28.
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
    first_->Add(MakeDcgan5Linear(options, noise_dim_, features));
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
      main_->Add(MakeUp(options, channels, channels / 2));
      AddNorm(options.generator_norm, channels / 2, *main_);
      main_->Add(&Relu);
      if (options.image_size == 28 && channels == channels_) main_->Add(&Crop);
    }
    main_->Add(MakeUp(options, channels, options.image_channels)).Add(&Tanh);
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
    main_->Add(MakeDown(options, options.image_channels, channels))
        .Add(&LeakyRelu);
    for (; channels < options.widest(); channels *= 2) {
      main_->Add(MakeDown(options, channels, 2 * channels));
      AddNorm(options.discriminator_norm, 2 * channels, *main_);
      main_->Add(&LeakyRelu);
    }
    linear_ = register_module(
        "linear",
        MakeDcgan5Linear(options, channels * kDcgan5Smallest * kDcgan5Smallest,
                         /*out_features=*/1));
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

WeightInit Dcgan5Init(const NetworkConfig& network) {
  return network.dcgan5().form() == Dcgan5Config::RADFORD ? WeightInit::kNormal
                                                          : WeightInit::kGlorot;
}

}  // namespace

NetworkFamily Dcgan5Family() {
  return MakeFamily<Dcgan5Generator, Dcgan5Discriminator>(
      {.name = "dcgan5", .init_of = &Dcgan5Init}, &Dcgan5OptionsFrom);
}

}  // namespace gandem
