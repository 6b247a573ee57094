// SPDX-License-Identifier: Apache-2.0
//
// A worker program with its own networks for images of 16 pixels, made of
// LibTorch's layers. docs/library.md has gandem's requirements on them.
#include <torch/nn.h>

#include <cstdint>
#include <string>

#include "gandem/worker.h"

namespace {

namespace nn = torch::nn;

constexpr int64_t kNoise = 16;

// Channels at 8 pixels, from the config's `options`.
int64_t WidthOf(const gandem::NetworkShape& shape) {
  TORCH_CHECK(shape.height == 16 && shape.width == 16,
              "tiny is for images of 16 x 16, not ", shape.height, " x ",
              shape.width, " (data.image_size)");
  return shape.options.empty() ? 32 : std::stoll(shape.options);
}

nn::Conv2dOptions Halve(int64_t from, int64_t to) {
  return nn::Conv2dOptions(from, to, 4).stride(2).padding(1);
}

nn::ConvTranspose2dOptions Double(int64_t from, int64_t to) {
  return nn::ConvTranspose2dOptions(from, to, 4).stride(2).padding(1);
}

class TinyGenerator : public gandem::OwnGenerator {
 public:
  explicit TinyGenerator(const gandem::NetworkShape& shape)
      : widest_(2 * WidthOf(shape)),
        linear_(register_module("linear", nn::Linear(kNoise, widest_ * 16))),
        grow_(register_module(
            "grow",
            nn::Sequential(
                nn::BatchNorm2d(widest_), nn::ReLU(),
                nn::ConvTranspose2d(Double(widest_, widest_ / 2)),
                nn::BatchNorm2d(widest_ / 2), nn::ReLU(),
                nn::ConvTranspose2d(Double(widest_ / 2, shape.channels)),
                nn::Tanh()))) {}

  at::Tensor forward(const at::Tensor& noise_NZ, const at::Tensor&) override {
    return grow_->forward(linear_->forward(noise_NZ).view({-1, widest_, 4, 4}));
  }
  int64_t noise_dim() const override { return kNoise; }

 private:
  const int64_t widest_;
  nn::Linear linear_;
  nn::Sequential grow_;
};

class TinyDiscriminator : public gandem::OwnDiscriminator {
 public:
  explicit TinyDiscriminator(const gandem::NetworkShape& shape) {
    const int64_t width = WidthOf(shape);
    shrink_ = register_module(
        "shrink",
        nn::Sequential(
            nn::Conv2d(Halve(shape.channels, width)),
            nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)),
            nn::Conv2d(Halve(width, 2 * width)), nn::BatchNorm2d(2 * width),
            nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)),
            nn::Flatten(), nn::Linear(2 * width * 16, 1)));
  }

  at::Tensor forward(const at::Tensor& images_NCHW,
                     const at::Tensor&) override {
    return shrink_->forward(images_NCHW);
  }

 private:
  nn::Sequential shrink_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return gandem::WorkerMain(
      argc, argv,
      {gandem::NetworksNamed<TinyGenerator, TinyDiscriminator>("tiny")});
}
