// SPDX-License-Identifier: Apache-2.0
//
// R3GAN, Config E of "The GAN is dead; long live the GAN!" (Huang et al. 2024),
// in the form of the authors' code (models.md 3.14). It has no normalization:
// the last convolution of a residual branch starts at 0, and the others are
// scaled down with the number of blocks (Fixup, Zhang et al. 2019).
//
//   block: x + conv1x1(LReLU(grouped conv3x3(LReLU(conv1x1(x))))), twice as
//          wide inside, the last convolution without bias
//   G: [noise, class] -> linear w * learned 4x4 features -> blocks w@4 -> up,
//      blocks w@8 ... -> conv1x1 to the image
//   D: conv1x1 -> blocks -> down ... -> blocks w@4 -> 4x4 convolution of each
//      channel -> linear -> logit, or <features, class>
//
// A 1x1 convolution changes the width, at the smaller of both sizes. There is
// no tanh: values of images are not limited.
#include <cmath>
#include <vector>

#include "common/config/resnet_plan.h"
#include "models/families/family.h"
#include "models/layers/layer.h"
#include "models/layers/parameter_weights.h"
#include "models/layers/weighted.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr int64_t kR3ganSmallest = 4;  // height and width of the widest layer

// Blocks of one height.
struct R3ganStage {
  int64_t width = 0;
  int64_t groups = 0;
};

// All stages, from 4x4 up.
std::vector<R3ganStage> R3ganStages(const R3ganConfig& config, int64_t size) {
  std::vector<R3ganStage> stages;
  R3ganStage stage{.width = config.width(), .groups = config.groups()};
  for (int64_t height = kR3ganSmallest; height <= size; height *= 2) {
    if (height > config.widest_until()) {
      stage = {.width = stage.width / 2, .groups = stage.groups / 2};
    }
    stages.push_back(stage);
  }
  return stages;
}

std::shared_ptr<Conv2d> R3ganPointwise(int64_t in_channels,
                                       int64_t out_channels) {
  return std::make_shared<Conv2d>(ConvOptions{.in_channels = in_channels,
                                              .out_channels = out_channels,
                                              .kernel = 1,
                                              .bias = false});
}

class R3ganBlock : public Layer {
 public:
  // `gain`: initial gain of the first two convolutions.
  R3ganBlock(const R3ganStage& stage, double gain)
      : main_(register_module("main", std::make_shared<Sequence>())) {
    const int64_t inner = 2 * stage.width;
    main_
        ->Add(std::make_shared<Conv2d>(ConvOptions{.in_channels = stage.width,
                                                   .out_channels = inner,
                                                   .kernel = 1,
                                                   .init_gain = gain}))
        .Add(&LeakyRelu)
        .Add(std::make_shared<Conv2d>(ConvOptions{.in_channels = inner,
                                                  .out_channels = inner,
                                                  .kernel = 3,
                                                  .padding = 1,
                                                  .groups = stage.groups,
                                                  .init_gain = gain}))
        .Add(&LeakyRelu)
        .Add(std::make_shared<Conv2d>(ConvOptions{.in_channels = inner,
                                                  .out_channels = stage.width,
                                                  .kernel = 1,
                                                  .bias = false,
                                                  .init_gain = 0}));
  }

  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) override {
    return input_NCHW + main_->forward(input_NCHW, mode);
  }

 private:
  const std::shared_ptr<Sequence> main_;
};

// The gain combines that of LReLU 0.2 and that of Fixup, for the two
// convolutions of a branch that do not start at 0.
void AddR3ganBlocks(const R3ganConfig& config, const R3ganStage& stage,
                    size_t num_stages, Sequence& main) {
  const double blocks = static_cast<double>(config.blocks() * num_stages);
  const double gain = std::sqrt(2 / 1.04) * std::pow(blocks, -0.25);
  for (int64_t i = 0; i < config.blocks(); ++i) {
    main.Add(std::make_shared<R3ganBlock>(stage, gain));
  }
}

// A learned map of features. Each image scales its channels.
class R3ganBasis : public Layer {
 public:
  R3ganBasis(int64_t in_features, int64_t channels)
      : weight_(register_parameter(
            "weight",
            torch::zeros({channels, kR3ganSmallest, kR3ganSmallest}))),
        linear_(register_module(
            "linear",
            std::make_shared<Linear>(Linear::Options{.in_features = in_features,
                                                     .out_features = channels,
                                                     .bias = false}))) {}

  // NI -> NCHW
  at::Tensor forward(const at::Tensor& input_NI, ForwardMode mode) override {
    return WeighedCopies(weight_, input_NI.size(0)) *
           linear_->forward(input_NI, mode).unsqueeze(2).unsqueeze(3);
  }

  // Weights start as N(0, 1), independent of the fan.
  double init_gain() const override { return kR3ganSmallest; }

 private:
  const at::Tensor weight_;
  const std::shared_ptr<Linear> linear_;
};

// Linear map of the one-hot label to a vector.
class R3ganClass : public Layer {
 public:
  R3ganClass(int64_t num_classes, int64_t dim, double init_gain)
      : init_gain_(init_gain),
        weight_(
            register_parameter("weight", torch::zeros({dim, num_classes}))) {}

  // int64 N -> ND
  at::Tensor forward(const at::Tensor& labels_N, ForwardMode) override {
    return WeighedRows(at::embedding(weight_.t(), labels_N));
  }

  double init_gain() const override { return init_gain_; }

 private:
  const double init_gain_;
  const at::Tensor weight_;
};

class R3ganGenerator : public Generator {
 public:
  R3ganGenerator(const R3ganConfig& config, const DataShape& data)
      : noise_dim_(config.noise_dim()), main_(std::make_shared<Sequence>()) {
    const int64_t num_classes = ConditionalClasses(data);
    if (num_classes > 0) {
      class_ = register_module(
          "embedding", std::make_shared<R3ganClass>(num_classes, noise_dim_,
                                                    /*init_gain=*/1));
    }
    const auto stages = R3ganStages(config, data.image.height);
    int64_t channels = stages.front().width;
    basis_ = register_module(
        "basis", std::make_shared<R3ganBasis>(
                     num_classes > 0 ? 2 * noise_dim_ : noise_dim_, channels));
    register_module("main", main_);
    for (size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].width != channels) {
        main_->Add(R3ganPointwise(channels, stages[i].width));
        channels = stages[i].width;
      }
      if (i > 0) main_->Add(&SmoothUpsample);
      AddR3ganBlocks(config, stages[i], stages.size(), *main_);
    }
    main_->Add(R3ganPointwise(channels, data.image.channels));
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override {
    const at::Tensor told =
        class_ ? at::cat({noise_NZ, class_->forward(condition.labels_N, mode)},
                         /*dim=*/1)
               : noise_NZ;
    return main_->forward(basis_->forward(told, mode), mode);
  }

  int64_t noise_dim() const override { return noise_dim_; }

 private:
  const int64_t noise_dim_;
  const std::shared_ptr<Sequence> main_;
  std::shared_ptr<R3ganClass> class_;  // null if unconditional
  std::shared_ptr<R3ganBasis> basis_;
};

class R3ganDiscriminator : public Discriminator {
 public:
  R3ganDiscriminator(const R3ganConfig& config, const DataShape& data)
      : main_(register_module("main", std::make_shared<Sequence>())) {
    const auto stages = R3ganStages(config, data.image.height);
    main_->Add(R3ganPointwise(data.image.channels, stages.back().width));
    for (size_t i = stages.size(); i-- > 0;) {
      AddR3ganBlocks(config, stages[i], stages.size(), *main_);
      if (i == 0) break;
      main_->Add(&SmoothDownsample);
      if (stages[i - 1].width != stages[i].width) {
        main_->Add(R3ganPointwise(stages[i].width, stages[i - 1].width));
      }
    }
    const int64_t channels = stages.front().width;
    main_->Add(std::make_shared<Conv2d>(ConvOptions{.in_channels = channels,
                                                    .out_channels = channels,
                                                    .kernel = kR3ganSmallest,
                                                    .groups = channels,
                                                    .bias = false}));
    const int64_t num_classes = ConditionalClasses(data);
    linear_ = register_module(
        "linear", std::make_shared<Linear>(Linear::Options{
                      .in_features = channels,
                      .out_features = num_classes > 0 ? channels : 1,
                      .bias = false}));
    if (num_classes > 0) {
      class_ = register_module(
          "embedding",
          std::make_shared<R3ganClass>(
              num_classes, channels,
              /*init_gain=*/1 / std::sqrt(static_cast<double>(channels))));
    }
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    const at::Tensor said_NE =
        linear_->forward(main_->forward(images_NCHW, mode).flatten(1), mode);
    if (!class_) return {.logits = said_NE.squeeze(1)};
    return {.logits =
                (said_NE * class_->forward(condition.labels_N, mode)).sum(1)};
  }

 private:
  const std::shared_ptr<Sequence> main_;
  std::shared_ptr<Linear> linear_;
  std::shared_ptr<R3ganClass> class_;  // null if unconditional
};

}  // namespace

NetworkFamily R3ganFamily() {
  return MakeFamily<R3ganGenerator, R3ganDiscriminator>(
      {.name = "r3gan", .init = WeightInit::kFanIn}, &NetworkConfig::r3gan);
}

}  // namespace gandem
