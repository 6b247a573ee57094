// SPDX-License-Identifier: Apache-2.0
//
// StyleGAN2 ("Analyzing and improving the image quality of StyleGAN", Karras et
// al. 2020, config F), in the form of models.md 3.15. A style (a vector
// computed from the noise) modulates all convolutions of the generator:
//
//   G: learned 4x4 -> conv -> [to image]
//      -> conv up -> conv -> [to image] ..., each 3x3 and with noise;
//      the output is the sum of all [to image], each upsampled
//   D: 1x1 -> blocks (conv, conv down, shortcut) -> 4x4: deviation of the
//      batch -> conv -> linear -> logit, or <features, vector of the class>
//
// Activations are leaky ReLU times sqrt(2). There is no tanh: values of images
// are not limited. In a training pass an image may have two styles
// (style_mapping.h). Resampling kernels are not buffers, unlike in the
// reference program.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/resnet_plan.h"
#include "extras/stylegan2/path_length.h"
#include "extras/stylegan2/style_mapping.h"
#include "extras/stylegan2/stylegan2_layers.h"
#include "models/families/family.h"
#include "models/layers/layer.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr int64_t kStyleSmallest = 4;

int64_t StyleChannels(const Stylegan2Config& config, int64_t size) {
  return std::min(config.channel_base() / size, config.max_channels());
}

// The learned input that all images share.
class StyleBasis : public Layer {
 public:
  explicit StyleBasis(int64_t channels)
      : weight_(register_parameter(
            "weight",
            torch::zeros({channels, kStyleSmallest, kStyleSmallest}))) {}

  // Returns a batch of 1; the first modulated convolution expands it.
  at::Tensor forward(const at::Tensor&, ForwardMode) override {
    return weight_.unsqueeze(0);
  }

  // Weights start as N(0, 1), independent of the fan.
  double init_gain() const override { return kStyleSmallest; }

 private:
  const at::Tensor weight_;
};

class StyledLayer : public torch::nn::Module {
 public:
  StyledLayer(const ModulatedConv::Options& options, int64_t size)
      : conv_(
            register_module("conv", std::make_shared<ModulatedConv>(options))),
        noise_(register_module("noise", std::make_shared<NoiseInput>(size))) {}

  at::Tensor forward(const at::Tensor& input_NCHW, const at::Tensor& style_NS,
                     const at::Tensor& place, ForwardMode mode) {
    return ScaledLeakyRelu(noise_->ForwardGiven(
        conv_->ForwardGiven(input_NCHW, style_NS, mode), place, mode));
  }

 private:
  const std::shared_ptr<ModulatedConv> conv_;
  const std::shared_ptr<NoiseInput> noise_;
};

// All layers of one image size.
class StyledBlock : public torch::nn::Module {
 public:
  StyledBlock(const Stylegan2Config& config, int64_t size,
              int64_t image_channels) {
    const int64_t channels = StyleChannels(config, size);
    ModulatedConv::Options options = {.in_channels = channels,
                                      .out_channels = channels,
                                      .style_dim = config.style_dim()};
    if (size > kStyleSmallest) {
      ModulatedConv::Options wider = options;
      wider.in_channels = StyleChannels(config, size / 2);
      wider.up = true;
      up_ =
          register_module("conv0", std::make_shared<StyledLayer>(wider, size));
    }
    conv_ =
        register_module("conv1", std::make_shared<StyledLayer>(options, size));
    options.out_channels = image_channels;
    options.kernel = 1;
    options.demodulate = false;
    to_image_ =
        register_module("torgb", std::make_shared<ModulatedConv>(options));
  }

  // The layers use the styles from `next` on. The layer to the image uses the
  // same style as the first layer of the next block.
  void forward(at::Tensor& x, at::Tensor& images_NCHW,
               const std::vector<at::Tensor>& styles_NS, size_t& next,
               const at::Tensor& place, ForwardMode mode) {
    if (up_) x = up_->forward(x, styles_NS[next++], place, mode);
    x = conv_->forward(x, styles_NS[next++], place, mode);
    const at::Tensor own = to_image_->ForwardGiven(x, styles_NS[next], mode);
    images_NCHW =
        images_NCHW.defined() ? SmoothUpsample(images_NCHW) + own : own;
  }

 private:
  std::shared_ptr<StyledLayer> up_;  // null in the first block
  std::shared_ptr<StyledLayer> conv_;
  std::shared_ptr<ModulatedConv> to_image_;
};

class Stylegan2Generator : public Generator, public HasStyles {
 public:
  Stylegan2Generator(const Stylegan2Config& config, const DataShape& data)
      : noise_dim_(config.noise_dim()),
        mapping_(register_module(
            "mapping", std::make_shared<StyleMapping>(StyleMapping::Options{
                           .noise_dim = config.noise_dim(),
                           .num_classes = ConditionalClasses(data),
                           .style_dim = config.style_dim(),
                           .layers = config.mapping_layers(),
                           .has_mean = true}))),
        basis_(register_module(
            "basis", std::make_shared<StyleBasis>(StyleChannels(config, 4)))) {
    for (int64_t size = kStyleSmallest; size <= data.image.height; size *= 2) {
      blocks_.push_back(register_module(
          absl::StrCat("b", size),
          std::make_shared<StyledBlock>(config, size, data.image.channels)));
    }
    if (config.mixing_probability() == 0) return;
    mixing_ = register_module(
        "mixing", std::make_shared<StyleMixing>(StyleMixing::Options{
                      .probability = config.mixing_probability(),
                      .num_layers = NumStyles()}));
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override {
    return ImagesOf(StylesOf(noise_NZ, condition, mode), condition, mode);
  }

  StyledImages ForwardStyled(const at::Tensor& noise_NZ,
                             const Condition& condition,
                             ForwardMode mode) override {
    const at::Tensor styles_NLS =
        at::stack(StylesOf(noise_NZ, condition, mode), 1);
    return {.images_NCHW = ImagesOf(styles_NLS.unbind(1), condition, mode),
            .styles_NLS = styles_NLS};
  }

  int64_t noise_dim() const override { return noise_dim_; }

  bool TruncateStyles(double psi) override {
    mapping_->set_psi(psi);
    return true;
  }

  bool SetNoiseInputs(bool random) override {
    for (const auto& module : modules()) {
      auto* const input = dynamic_cast<NoiseInput*>(module.get());
      if (input != nullptr) input->set_draws_always(random);
    }
    return true;
  }

 private:
  // One style per convolution, and one for the last layer to the image.
  int64_t NumStyles() const { return 2 * std::ssize(blocks_); }

  at::Tensor ImagesOf(const std::vector<at::Tensor>& styles_NS,
                      const Condition& condition, ForwardMode mode) {
    const at::Tensor place = PlaceOf(condition);
    at::Tensor x = basis_->forward(styles_NS.front(), mode);
    at::Tensor images_NCHW;
    size_t next = 0;
    for (const auto& block : blocks_) {
      block->forward(x, images_NCHW, styles_NS, next, place, mode);
    }
    return images_NCHW;
  }

  // Only the first style of an image is recorded: both have the same mean.
  std::vector<at::Tensor> StylesOf(const at::Tensor& noise_NZ,
                                   const Condition& condition,
                                   ForwardMode mode) {
    const at::Tensor place = PlaceOf(condition);
    at::Tensor style_NS = mapping_->forward(noise_NZ, condition.labels_N, mode);
    if (mode == ForwardMode::kEvaluate) {
      style_NS = mapping_->Truncated(style_NS);
    }
    if (mode == ForwardMode::kTrain) {
      mapping_->Record(style_NS, condition.place.step);
    }
    std::vector<at::Tensor> styles_NS(NumStyles(), style_NS);
    if (!mixing_ || mode == ForwardMode::kEvaluate) return styles_NS;
    const at::Tensor other_NS = mapping_->forward(
        mixing_->ForwardGiven(noise_NZ, place, mode), condition.labels_N, mode);
    const at::Tensor begins_N1 = mixing_->Begins(place, noise_NZ.size(0))
                                     .to(noise_NZ.device())
                                     .unsqueeze(1);
    for (int64_t layer = 1; layer < NumStyles(); ++layer) {
      styles_NS[layer] = at::where(begins_N1 <= layer, other_NS, style_NS);
    }
    return styles_NS;
  }

  const int64_t noise_dim_;
  const std::shared_ptr<StyleMapping> mapping_;
  const std::shared_ptr<StyleBasis> basis_;
  std::vector<std::shared_ptr<StyledBlock>> blocks_;
  std::shared_ptr<StyleMixing> mixing_;  // null if images have one style
};

class JudgingBlock : public torch::nn::Module {
 public:
  JudgingBlock(const Stylegan2Config& config, int64_t size)
      : gain_(config.block() == Stylegan2Config::RESIDUAL ? 1 : std::sqrt(2)) {
    const int64_t channels = StyleChannels(config, size);
    EqualConv::Options options = {.in_channels = channels,
                                  .out_channels = channels};
    conv_ = register_module("conv0", std::make_shared<EqualConv>(options));
    options.out_channels = StyleChannels(config, size / 2);
    options.down = true;
    down_ = register_module("conv1", std::make_shared<EqualConv>(options));
    if (config.block() != Stylegan2Config::RESIDUAL) return;
    options.kernel = 1;
    options.bias = false;
    skip_ = register_module("skip", std::make_shared<EqualConv>(options));
  }

  // Both addends are divided by sqrt(2), for `main` by its gain.
  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) {
    const at::Tensor main = ScaledLeakyRelu(
        down_->forward(ScaledLeakyRelu(conv_->forward(input_NCHW, mode)), mode),
        gain_);
    if (!skip_) return main;
    return main + skip_->forward(input_NCHW, mode) * std::sqrt(0.5);
  }

 private:
  const double gain_;  // gain of the second activation
  std::shared_ptr<EqualConv> conv_;
  std::shared_ptr<EqualConv> down_;
  std::shared_ptr<EqualConv> skip_;  // null for PLAIN blocks
};

std::shared_ptr<EqualLinear> JudgingLinear(int64_t in, int64_t out) {
  return std::make_shared<EqualLinear>(
      EqualLinear::Options{.in_features = in, .out_features = out});
}

class Stylegan2Discriminator : public Discriminator {
 public:
  Stylegan2Discriminator(const Stylegan2Config& config, const DataShape& data)
      : group_(config.deviation_group()),
        from_image_(register_module(
            "fromrgb",
            std::make_shared<EqualConv>(EqualConv::Options{
                .in_channels = data.image.channels,
                .out_channels = StyleChannels(config, data.image.height),
                .kernel = 1}))) {
    for (int64_t size = data.image.height; size > kStyleSmallest; size /= 2) {
      blocks_.push_back(
          register_module(absl::StrCat("b", size),
                          std::make_shared<JudgingBlock>(config, size)));
    }
    const int64_t channels = StyleChannels(config, kStyleSmallest);
    conv_ = register_module(
        "conv", std::make_shared<EqualConv>(EqualConv::Options{
                    .in_channels = channels + 1, .out_channels = channels}));
    linear_ = register_module(
        "fc",
        JudgingLinear(channels * kStyleSmallest * kStyleSmallest, channels));
    const int64_t num_classes = ConditionalClasses(data);
    out_ = register_module(
        "out", JudgingLinear(channels, num_classes > 0 ? channels : 1));
    if (num_classes == 0) return;
    mapping_ = register_module(
        "mapping", std::make_shared<StyleMapping>(
                       StyleMapping::Options{.num_classes = num_classes,
                                             .style_dim = channels,
                                             .layers = config.label_layers()}));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    at::Tensor x = ScaledLeakyRelu(from_image_->forward(images_NCHW, mode));
    for (const auto& block : blocks_) x = block->forward(x, mode);
    x = ScaledLeakyRelu(conv_->forward(WithDeviation(x, group_), mode));
    x = ScaledLeakyRelu(linear_->forward(x.flatten(1), mode));
    const at::Tensor said_NE = out_->forward(x, mode);
    if (!mapping_) return {.logits = said_NE.squeeze(1)};
    const at::Tensor class_NE =
        mapping_->forward(/*noise_NZ=*/{}, condition.labels_N, mode);
    return {.logits = (said_NE * class_NE).sum(1) /
                      std::sqrt(static_cast<double>(said_NE.size(1)))};
  }

 private:
  const int64_t group_;
  const std::shared_ptr<EqualConv> from_image_;
  std::vector<std::shared_ptr<JudgingBlock>> blocks_;
  std::shared_ptr<EqualConv> conv_;
  std::shared_ptr<EqualLinear> linear_;
  std::shared_ptr<EqualLinear> out_;
  std::shared_ptr<StyleMapping> mapping_;  // null if unconditional
};

}  // namespace

NetworkFamily Stylegan2Family() {
  return MakeFamily<Stylegan2Generator, Stylegan2Discriminator>(
      {.name = "stylegan2", .init = WeightInit::kFanIn},
      &NetworkConfig::stylegan2);
}

}  // namespace gandem
