// SPDX-License-Identifier: Apache-2.0
#include "models/registry/initialize.h"

#include <cmath>

#include "absl/strings/match.h"
#include "common/check.h"
#include "common/philox.h"
#include "models/foreign_network.h"
#include "models/layers/drawing_layer.h"
#include "models/layers/weighted.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr double kNormalStddev = 0.02;
constexpr int kPowerIterations = 15;

WeightInit InitOf(const NetworkConfig& config) {
  const NetworkFamily* const family = FamilyOf(config);
  GANDEM_CHECK(family != nullptr);
  return family->init_of != nullptr ? family->init_of(config) : family->init;
}

// Draws the tensors of one network, in order.
class Initializer {
 public:
  Initializer(WeightInit init, uint64_t seed, uint64_t first_tensor)
      : init_(init), seed_(seed), tensor_(first_tensor) {}

  void Initialize(torch::nn::Module& network) {
    const torch::NoGradGuard no_grad;
    for (const auto& module : network.modules()) {
      for (auto& item : module->named_parameters(/*recurse=*/false)) {
        SetParameter(*module, item.key(), item.value());
        ++tensor_;
      }
      for (auto& item : module->named_buffers(/*recurse=*/false)) {
        SetBuffer(item.key(), item.value());
      }
      if (auto* layer = dynamic_cast<WeightedLayer*>(module.get())) {
        layer->IterateSpectralNorm(kPowerIterations);
      }
    }
  }

 private:
  void SetParameter(const torch::nn::Module& module, const std::string& name,
                    at::Tensor& parameter) {
    const auto own = module.named_parameters(/*recurse=*/false);
    const at::Tensor* const weight = own.find("weight");
    if (weight != nullptr && weight->dim() == 1) {  // normalization
      parameter.fill_(name == "weight" ? 1 : 0);
      if (name == "weight" && init_ == WeightInit::kNormal) {
        parameter.add_(Normal(parameter.sizes()), kNormalStddev);
      }
    } else if (name == "weight" && !StartsAtZero(module)) {
      SetWeight(module, parameter);
    } else if (init_ == WeightInit::kUniformFanIn && weight != nullptr) {
      parameter.copy_(Uniform(parameter.sizes(), FanInBound(*weight)));
    } else {
      const auto* const layer = dynamic_cast<const Layer*>(&module);
      parameter.fill_(name == "bias" && layer != nullptr ? layer->first_bias()
                                                         : 0);
    }
  }

  static bool StartsAtZero(const torch::nn::Module& module) {
    const auto* const embedding = dynamic_cast<const Embedding*>(&module);
    return embedding != nullptr && embedding->starts_at_zero();
  }

  void SetWeight(const torch::nn::Module& module, at::Tensor& weight) {
    switch (init_) {
      case WeightInit::kUniformFanIn:
        weight.copy_(Uniform(weight.sizes(), FanInBound(weight)));
        break;
      case WeightInit::kNormal:
        weight.copy_(Normal(weight.sizes()) * kNormalStddev);
        break;
      case WeightInit::kOrthogonal:
        weight.copy_(Orthogonal(weight.sizes()));
        break;
      case WeightInit::kGlorot:
        weight.copy_(Glorot(weight) * GainOf(module));
        break;
      case WeightInit::kKeras:
        weight.copy_(weight.dim() == 4 ? Normal(weight.sizes()) * kNormalStddev
                                       : Glorot(weight));
        break;
      case WeightInit::kFanIn:
        weight.copy_(Normal(weight.sizes()) *
                     (GainOf(module) * FanInBound(weight)));
        break;
    }
  }

  static double GainOf(const torch::nn::Module& module) {
    const auto* const layer = dynamic_cast<const Layer*>(&module);
    return layer == nullptr ? 1 : layer->init_gain();
  }

  void SetBuffer(const std::string& name, at::Tensor& buffer) {
    if (name == "running_var") {
      buffer.fill_(1);
    } else if (name == "weight_u" || name == "weight_v") {
      const at::Tensor vector = Normal({1, buffer.numel()});
      buffer.copy_(vector.view({-1}) / vector.norm());
      ++tensor_;
    } else if (name == "noise_const") {
      buffer.copy_(Normal(buffer.sizes()));
      ++tensor_;
    } else if (absl::EndsWith(name, kDrawKeySuffix)) {
      PhiloxStream stream(seed_, Purpose::kInit, tensor_, /*index=*/0);
      const int64_t high = stream.NextUint32() >> 2;
      buffer.fill_(high << 32 | stream.NextUint32());
      ++tensor_;
    } else {
      buffer.zero_();
    }
  }

  at::Tensor Normal(at::IntArrayRef shape) {
    return Draw(shape, [](PhiloxStream& s) { return s.NextNormal(); });
  }

  at::Tensor Uniform(at::IntArrayRef shape, double bound) {
    return Draw(shape, [bound](PhiloxStream& s) {
      return bound * (2 * s.NextUniform() - 1);
    });
  }

  // For transposed convolutions fan in and fan out are swapped: the same sum.
  at::Tensor Glorot(const at::Tensor& weight) {
    const int64_t fans = FanIn(weight) + weight.select(1, 0).numel();
    return Uniform(weight.sizes(), std::sqrt(6.0 / static_cast<double>(fans)));
  }

  // Returns orthonormal rows or columns, whichever are fewer, of the matrix
  // [size(0), rest] (Saxe, McClelland and Ganguli 2014), as PyTorch does.
  at::Tensor Orthogonal(at::IntArrayRef shape) {
    const at::Tensor matrix = Normal(shape).flatten(1);
    const bool wide = matrix.size(0) < matrix.size(1);
    auto [q, r] = at::linalg_qr(wide ? matrix.t() : matrix);
    q = q * r.diagonal().sign();
    return (wide ? q.t() : q).reshape(shape);
  }

  template <typename DrawOne>
  at::Tensor Draw(at::IntArrayRef shape, DrawOne draw_one) {
    at::Tensor values = torch::empty(shape, torch::kFloat64);
    const int64_t rows = shape[0];
    const int64_t row_size = values.numel() / rows;
    double* out = values.mutable_data_ptr<double>();
    for (int64_t row = 0; row < rows; ++row) {
      PhiloxStream stream(seed_, Purpose::kInit, tensor_, row);
      for (int64_t i = 0; i < row_size; ++i) *out++ = draw_one(stream);
    }
    return values;
  }

  static int64_t FanIn(const at::Tensor& weight) { return weight[0].numel(); }

  static double FanInBound(const at::Tensor& weight) {
    return 1.0 / std::sqrt(static_cast<double>(FanIn(weight)));
  }

  const WeightInit init_;
  const uint64_t seed_;
  uint64_t tensor_;  // number of the next tensor
};

// Lets the network draw its own initial values, if it does, with a seed drawn
// as tensor number `first_tensor`. Returns whether it does.
template <typename Network>
bool DrawsItself(Network& network, uint64_t seed, uint64_t first_tensor) {
  auto* const own = dynamic_cast<DrawsFirstValues*>(&network);
  if (own == nullptr) return false;
  PhiloxStream stream(seed, Purpose::kInit, first_tensor, /*index=*/0);
  own->DrawFirstValues(stream.NextUint64());
  return true;
}

}  // namespace

void InitializeParameters(Generator& generator, const NetworkConfig& config,
                          uint64_t seed) {
  constexpr uint64_t kFirst = 0;
  if (DrawsItself(generator, seed, kFirst)) return;
  Initializer(InitOf(config), seed, kFirst).Initialize(generator);
}

void InitializeParameters(Discriminator& discriminator,
                          const NetworkConfig& config, uint64_t seed) {
  constexpr uint64_t kFirst = uint64_t{1} << 32;
  if (DrawsItself(discriminator, seed, kFirst)) return;
  Initializer(InitOf(config), seed, kFirst).Initialize(discriminator);
}

}  // namespace gandem
