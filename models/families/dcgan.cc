// SPDX-License-Identifier: Apache-2.0
//
// DCGAN (Radford, Metz and Chintala 2016) as in PyTorch's example: 4x4 kernels,
// no convolution biases, batch norm everywhere except at the images and the
// logit. Checkpoints of the example fit, since tensor names are equal
// ("main.0.weight" ...). Networks for 32 pixels have one stage less:
//
//   G 64: noise -> 8w@4 -> 4w@8 -> 2w@16 -> w@32 -> image, ReLU, tanh
//   D 64: image -> w@32 -> 2w@16 -> 4w@8 -> 8w@4 -> logit, LeakyReLU 0.2
//   G 32: noise -> 4w@4 -> 2w@8 -> w@16 -> image; D 32 alike
#include "models/families/family.h"
#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/weighted.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr int64_t kDcganSmallest = 4;  // height and width of the widest layer

// Returns the channels of the smallest layer; they double with each halving.
int64_t WidestLayer(const DcganConfig& config, const DataShape& data) {
  return config.width() * data.image.height / (2 * kDcganSmallest);
}

// Makes a layer that doubles the resolution, or maps 1 pixel to 4.
template <typename Convolution>
std::shared_ptr<Layer> MakeDcganConvolution(int64_t in_channels,
                                            int64_t out_channels,
                                            bool one_pixel) {
  return std::make_shared<Convolution>(ConvOptions{.in_channels = in_channels,
                                                   .out_channels = out_channels,
                                                   .kernel = kDcganSmallest,
                                                   .stride = one_pixel ? 1 : 2,
                                                   .padding = one_pixel ? 0 : 1,
                                                   .bias = false});
}

class DcganGenerator : public Generator {
 public:
  DcganGenerator(const DcganConfig& config, const DataShape& data)
      : noise_dim_(config.noise_dim()),
        main_(register_module("main", std::make_shared<Sequence>())) {
    int64_t channels = WidestLayer(config, data);
    main_
        ->Add(MakeDcganConvolution<ConvTranspose2d>(noise_dim_, channels,
                                                    /*one_pixel=*/true))
        .Add(MakeBatchNorm(channels))
        .Add(&Relu);
    for (; channels > config.width(); channels /= 2) {
      main_
          ->Add(MakeDcganConvolution<ConvTranspose2d>(channels, channels / 2,
                                                      /*one_pixel=*/false))
          .Add(MakeBatchNorm(channels / 2))
          .Add(&Relu);
    }
    main_
        ->Add(MakeDcganConvolution<ConvTranspose2d>(channels,
                                                    data.image.channels,
                                                    /*one_pixel=*/false))
        .Add(&Tanh);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition&,
                     ForwardMode mode) override {
    return main_->forward(noise_NZ.view({-1, noise_dim_, 1, 1}), mode);
  }

  int64_t noise_dim() const override { return noise_dim_; }

 private:
  const int64_t noise_dim_;
  const std::shared_ptr<Sequence> main_;
};

class DcganDiscriminator : public Discriminator {
 public:
  DcganDiscriminator(const DcganConfig& config, const DataShape& data)
      : main_(register_module("main", std::make_shared<Sequence>())) {
    int64_t channels = config.width();
    main_
        ->Add(MakeDcganConvolution<Conv2d>(data.image.channels, channels,
                                           /*one_pixel=*/false))
        .Add(&LeakyRelu);
    for (; channels < WidestLayer(config, data); channels *= 2) {
      main_
          ->Add(MakeDcganConvolution<Conv2d>(channels, 2 * channels,
                                             /*one_pixel=*/false))
          .Add(MakeBatchNorm(2 * channels))
          .Add(&LeakyRelu);
    }
    main_->Add(MakeDcganConvolution<Conv2d>(channels, /*out_channels=*/1,
                                            /*one_pixel=*/true));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode mode) override {
    return {.logits = main_->forward(images_NCHW, mode).flatten()};
  }

 private:
  const std::shared_ptr<Sequence> main_;
};

}  // namespace

NetworkFamily DcganFamily() {
  return MakeFamily<DcganGenerator, DcganDiscriminator>(
      {.name = "dcgan", .init = WeightInit::kNormal}, &NetworkConfig::dcgan);
}

}  // namespace gandem
