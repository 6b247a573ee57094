// SPDX-License-Identifier: Apache-2.0
//
// Fully connected networks on flattened images: linear layers with LeakyReLU
// 0.2 between them; the generator ends in tanh (Goodfellow et al. 2014, with
// the slope of later practice). With batch_norm the generator is PyTorch-GAN's:
// batch norm before every activation but the first (models.md 3.13).
#include <vector>

#include "models/families/family.h"
#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/weighted.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// PyTorch-GAN's: it passes its 0.8, meant as a momentum, in the place of eps.
constexpr double kMlpBatchNormEps = 0.8;

struct MlpOptions {
  std::vector<int64_t> hidden;  // widths, input side first
  int64_t noise_dim = 0;
  bool batch_norm = false;  // generator only
  ImageShape image = {};
  int64_t num_classes = 0;
};

MlpOptions MlpOptionsFrom(const NetworkConfig& network, const DataShape& data) {
  const MlpConfig& config = network.mlp();
  return {.hidden = {config.hidden().begin(), config.hidden().end()},
          .noise_dim = config.noise_dim(),
          .batch_norm = config.batch_norm(),
          .image = data.image,
          .num_classes = data.num_classes};
}

// in_features -> hidden... -> out_features.
std::shared_ptr<Sequence> MakeStack(int64_t in_features,
                                    const std::vector<int64_t>& hidden,
                                    int64_t out_features, bool batch_norm) {
  auto stack = std::make_shared<Sequence>();
  for (size_t i = 0; i < hidden.size(); ++i) {
    stack->Add(std::make_shared<Linear>(Linear::Options{
        .in_features = in_features, .out_features = hidden[i]}));
    if (batch_norm && i > 0) {
      stack->Add(std::make_shared<BatchNorm>(BatchNorm::Options{
          .num_features = hidden[i], .eps = kMlpBatchNormEps}));
    }
    stack->Add(&LeakyRelu);
    in_features = hidden[i];
  }
  stack->Add(std::make_shared<Linear>(Linear::Options{
      .in_features = in_features, .out_features = out_features}));
  return stack;
}

// rows_NF with the one-hot label behind each row.
at::Tensor AppendLabels(const at::Tensor& rows_NF, const Condition& condition,
                        int64_t num_classes) {
  if (num_classes == 0) return rows_NF;
  const at::Tensor one_hot_NK = at::one_hot(condition.labels_N, num_classes);
  return at::cat({rows_NF, one_hot_NK.to(rows_NF.scalar_type())}, 1);
}

class MlpGenerator : public Generator {
 public:
  explicit MlpGenerator(const MlpOptions& options)
      : options_(options),
        main_(MakeStack(options.noise_dim + options.num_classes, options.hidden,
                        options.image.NumValues(), options.batch_norm)) {
    main_->Add(&Tanh);
    register_module("main", main_);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override {
    const ImageShape& image = options_.image;
    const at::Tensor input =
        AppendLabels(noise_NZ, condition, options_.num_classes);
    return main_->forward(input, mode)
        .view({-1, image.channels, image.height, image.width});
  }

  int64_t noise_dim() const override { return options_.noise_dim; }

 private:
  const MlpOptions options_;
  const std::shared_ptr<Sequence> main_;
};

class MlpDiscriminator : public Discriminator {
 public:
  explicit MlpDiscriminator(const MlpOptions& options)
      : num_classes_(options.num_classes),
        main_(MakeStack(options.image.NumValues() + num_classes_,
                        options.hidden, /*out_features=*/1,
                        /*batch_norm=*/false)) {
    register_module("main", main_);
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    const at::Tensor input =
        AppendLabels(images_NCHW.flatten(1), condition, num_classes_);
    return {.logits_N = main_->forward(input, mode).squeeze(1)};
  }

 private:
  const int64_t num_classes_;
  const std::shared_ptr<Sequence> main_;
};

}  // namespace

NetworkFamily MlpFamily() {
  return MakeFamily<MlpGenerator, MlpDiscriminator>(
      {.name = "mlp", .init = WeightInit::kUniformFanIn}, &MlpOptionsFrom);
}

}  // namespace gandem
