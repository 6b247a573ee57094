// SPDX-License-Identifier: Apache-2.0
#include "models/mlp.h"

#include "models/layers/layer.h"
#include "models/layers/weighted.h"

namespace gandem {
namespace {

// in_features -> hidden... -> out_features.
std::shared_ptr<Sequence> MakeStack(int64_t in_features,
                                    const std::vector<int64_t>& hidden,
                                    int64_t out_features) {
  auto stack = std::make_shared<Sequence>();
  for (const int64_t width : hidden) {
    stack
        ->Add(std::make_shared<Linear>(
            Linear::Options{.in_features = in_features, .out_features = width}))
        .Add(&LeakyRelu);
    in_features = width;
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
                        options.image.NumValues())) {
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
                        options.hidden, /*out_features=*/1)) {
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

std::shared_ptr<Generator> MakeMlpGenerator(const MlpOptions& options) {
  return std::make_shared<MlpGenerator>(options);
}

std::shared_ptr<Discriminator> MakeMlpDiscriminator(const MlpOptions& options) {
  return std::make_shared<MlpDiscriminator>(options);
}

}  // namespace gandem
