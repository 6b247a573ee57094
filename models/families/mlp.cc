// SPDX-License-Identifier: Apache-2.0
//
// Fully connected networks on flattened images: linear layers with LeakyReLU
// 0.2 between them; the generator ends in tanh (Goodfellow et al. 2014, with
// today's usual slope). With batch_norm the generator is PyTorch-GAN's, with
// batch norm before every activation except the first (models.md 3.13).
#include "models/families/family.h"
#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/layer_style.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// PyTorch-GAN passes 0.8, meant as a momentum, as eps.
constexpr double kMlpBatchNormEps = 0.8;

// Makes the layers in_features -> hidden... -> out_features.
std::shared_ptr<Sequence> MakeStack(int64_t in_features,
                                    const MlpConfig& config,
                                    int64_t out_features, bool batch_norm) {
  auto stack = std::make_shared<Sequence>();
  for (int i = 0; i < config.hidden_size(); ++i) {
    const int64_t width = config.hidden(i);
    stack->Add(MakeLinear(in_features, width));
    if (batch_norm && i > 0) stack->Add(MakeBatchNorm(width, kMlpBatchNormEps));
    stack->Add(&LeakyRelu);
    in_features = width;
  }
  stack->Add(MakeLinear(in_features, out_features));
  return stack;
}

// Appends the one-hot label to each row of rows_NF.
at::Tensor AppendLabels(const at::Tensor& rows_NF, const Condition& condition,
                        int64_t num_classes) {
  if (num_classes == 0) return rows_NF;
  const at::Tensor one_hot_NK = at::one_hot(condition.labels_N, num_classes);
  return at::cat({rows_NF, one_hot_NK.to(rows_NF.scalar_type())}, 1);
}

class MlpGenerator : public Generator {
 public:
  MlpGenerator(const MlpConfig& config, const DataShape& data)
      : noise_dim_(config.noise_dim()),
        data_(data),
        main_(MakeStack(noise_dim_ + data.num_classes, config,
                        data.image.NumValues(), config.batch_norm())) {
    main_->Add(&Tanh);
    register_module("main", main_);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override {
    const ImageShape& image = data_.image;
    const at::Tensor input =
        AppendLabels(noise_NZ, condition, data_.num_classes);
    return main_->forward(input, mode)
        .view({-1, image.channels, image.height, image.width});
  }

  int64_t noise_dim() const override { return noise_dim_; }

 private:
  const int64_t noise_dim_;
  const DataShape data_;
  const std::shared_ptr<Sequence> main_;
};

class MlpDiscriminator : public Discriminator {
 public:
  MlpDiscriminator(const MlpConfig& config, const DataShape& data)
      : num_classes_(data.num_classes),
        main_(MakeStack(data.image.NumValues() + num_classes_, config,
                        /*out_features=*/1,
                        /*batch_norm=*/false)) {
    register_module("main", main_);
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    const at::Tensor input =
        AppendLabels(images_NCHW.flatten(1), condition, num_classes_);
    return {.logits = main_->forward(input, mode).squeeze(1)};
  }

 private:
  const int64_t num_classes_;
  const std::shared_ptr<Sequence> main_;
};

}  // namespace

NetworkFamily MlpFamily() {
  return MakeFamily<MlpGenerator, MlpDiscriminator>(
      {.name = "mlp", .init = WeightInit::kUniformFanIn}, &NetworkConfig::mlp);
}

}  // namespace gandem
