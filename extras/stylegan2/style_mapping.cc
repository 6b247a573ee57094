// SPDX-License-Identifier: Apache-2.0
#include "extras/stylegan2/style_mapping.h"

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr double kVectorEps = 1e-8;
constexpr double kMappingRate = 0.01;
constexpr double kMeanDecay = 0.995;

at::Tensor UnitMeanSquare(const at::Tensor& input_NI) {
  return input_NI *
         at::rsqrt(input_NI.square().mean(1, /*keepdim=*/true) + kVectorEps);
}

}  // namespace

StyleMapping::StyleMapping(const Options& options) : options_(options) {
  int64_t features = options.noise_dim;
  if (options.num_classes > 0) {
    embed_ = register_module(
        "embed", std::make_shared<EqualLinear>(
                     EqualLinear::Options{.in_features = options.num_classes,
                                          .out_features = options.style_dim}));
    features += options.style_dim;
  }
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(register_module(
        absl::StrCat("fc", i),
        std::make_shared<EqualLinear>(EqualLinear::Options{
            .in_features = i == 0 ? features : options.style_dim,
            .out_features = options.style_dim,
            .rate = kMappingRate})));
  }
  if (!options.has_mean) return;
  mean_S_ = register_buffer("w_avg", torch::zeros({options.style_dim}));
}

at::Tensor StyleMapping::forward(const at::Tensor& noise_NZ,
                                 const at::Tensor& labels_N, ForwardMode mode) {
  std::vector<at::Tensor> parts;
  if (options_.noise_dim > 0) parts.push_back(UnitMeanSquare(noise_NZ));
  if (embed_) {
    const at::Tensor one_hot_NK = at::one_hot(labels_N, options_.num_classes);
    const at::ScalarType type = embed_->parameters().front().scalar_type();
    parts.push_back(UnitMeanSquare(embed_->forward(one_hot_NK.to(type), mode)));
  }
  at::Tensor x = at::cat(parts, /*dim=*/1);
  for (const auto& layer : layers_) {
    x = ScaledLeakyRelu(layer->forward(x, mode));
  }
  return x;
}

// A new version of the mean, written by a checkpoint or a fleet, begins a new
// step even if the step's number is the same.
void StyleMapping::Record(const at::Tensor& style_NS, int64_t step) {
  GANDEM_CHECK(options_.has_mean);
  const torch::NoGradGuard no_grad;
  if (step != step_ || mean_S_._version() != version_) {
    step_ = step;
    before_S_ = mean_S_.clone();
    sum_S_ = at::zeros_like(mean_S_);
    count_ = 0;
  }
  sum_S_ += style_NS.to(mean_S_.scalar_type()).sum(0);
  count_ += style_NS.size(0);
  mean_S_.copy_(before_S_ * kMeanDecay +
                sum_S_ * ((1 - kMeanDecay) / static_cast<double>(count_)));
  version_ = mean_S_._version();
}

at::Tensor StyleMapping::Truncated(const at::Tensor& style_NS) const {
  if (psi_ == 1) return style_NS;
  return mean_S_ + psi_ * (style_NS - mean_S_);
}

StyleMixing::StyleMixing(const Options& options)
    : DrawingLayer("mixing_key"), options_(options) {
  GANDEM_CHECK(options.num_layers >= 2);
}

int64_t StyleMixing::DrawBegin(PhiloxStream& stream) const {
  const bool mixed = stream.NextUniform() < options_.probability;
  const int64_t begin =
      1 + stream.NextBelow(static_cast<uint32_t>(options_.num_layers - 1));
  return mixed ? begin : options_.num_layers;
}

at::Tensor StyleMixing::Begins(const at::Tensor& place, int64_t images) const {
  at::Tensor begins_N = torch::empty({images}, at::kLong);
  int64_t* const out = begins_N.mutable_data_ptr<int64_t>();
  for (int64_t row = 0; row < images; ++row) {
    PhiloxStream stream = StreamOf(place, row);
    out[row] = DrawBegin(stream);
  }
  return begins_N;
}

at::Tensor StyleMixing::ForwardGiven(const at::Tensor& noise_NZ,
                                     const at::Tensor& place, ForwardMode) {
  const int64_t dim = noise_NZ.size(1);
  at::Tensor other_NZ = torch::empty({noise_NZ.size(0), dim}, torch::kFloat64);
  double* out = other_NZ.mutable_data_ptr<double>();
  for (int64_t row = 0; row < noise_NZ.size(0); ++row) {
    PhiloxStream stream = StreamOf(place, row);
    (void)DrawBegin(stream);
    for (int64_t i = 0; i < dim; ++i) *out++ = stream.NextNormal();
  }
  return other_NZ.to(noise_NZ.options());
}

}  // namespace gandem
