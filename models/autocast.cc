// SPDX-License-Identifier: Apache-2.0
#include "models/autocast.h"

#include <ATen/autocast_mode.h>

#include <utility>

#include "models/torch.h"

namespace gandem {
namespace {

// Whether a SecondOrderScope of this thread is open.
thread_local bool is_second_order = false;

AutocastState CastTo(at::ScalarType dtype, const at::Device& device) {
  return {.device = device.type(),
          .enabled = !(is_second_order && device.is_cpu()),
          .dtype = dtype};
}

// Shares the tensors and children of `network` with `view`, in the same order.
void ShareState(const torch::nn::Module& network, torch::nn::Module& view) {
  for (const auto& item : network.named_parameters(/*recurse=*/false)) {
    view.register_parameter(item.key(), item.value(),
                            item.value().requires_grad());
  }
  for (const auto& item : network.named_buffers(/*recurse=*/false)) {
    view.register_buffer(item.key(), item.value());
  }
  for (const auto& item : network.named_children()) {
    view.register_module(item.key(), item.value());
  }
}

at::Tensor ToFloat(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(at::kFloat) : tensor;
}

class AutocastGenerator : public Generator {
 public:
  AutocastGenerator(std::shared_ptr<Generator> network, at::ScalarType dtype)
      : network_(std::move(network)), dtype_(dtype) {
    ShareState(*network_, *this);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override {
    const AutocastScope scope(CastTo(dtype_, noise_NZ.device()));
    return ToFloat(network_->forward(noise_NZ, condition, mode));
  }

  int64_t noise_dim() const override { return network_->noise_dim(); }

 private:
  const std::shared_ptr<Generator> network_;
  const at::ScalarType dtype_;
};

class AutocastDiscriminator : public Discriminator {
 public:
  AutocastDiscriminator(std::shared_ptr<Discriminator> network,
                        at::ScalarType dtype)
      : network_(std::move(network)), dtype_(dtype) {
    ShareState(*network_, *this);
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    const AutocastScope scope(CastTo(dtype_, images_NCHW.device()));
    const Verdict verdict = network_->forward(images_NCHW, condition, mode);
    return {.logits = verdict.logits.Each(ToFloat),
            .embeddings_NE = ToFloat(verdict.embeddings_NE),
            .proxies_KE = ToFloat(verdict.proxies_KE)};
  }

 private:
  const std::shared_ptr<Discriminator> network_;
  const at::ScalarType dtype_;
};

}  // namespace

AutocastState AutocastState::Current(at::DeviceType device) {
  return {.device = device,
          .enabled = at::autocast::is_autocast_enabled(device),
          .dtype = at::autocast::get_autocast_dtype(device)};
}

AutocastScope::AutocastScope(const AutocastState& state)
    : before_(AutocastState::Current(state.device)),
      cached_before_(at::autocast::is_autocast_cache_enabled()) {
  // Disables the cache of cast parameters: passes with gradients would reuse
  // casts made under NoGradGuard.
  at::autocast::set_autocast_cache_enabled(false);
  at::autocast::set_autocast_dtype(state.device, state.dtype);
  at::autocast::set_autocast_enabled(state.device, state.enabled);
}

AutocastScope::~AutocastScope() {
  at::autocast::set_autocast_enabled(before_.device, before_.enabled);
  at::autocast::set_autocast_dtype(before_.device, before_.dtype);
  at::autocast::set_autocast_cache_enabled(cached_before_);
}

FullPrecision::FullPrecision() : exclude_(c10::autocast_dispatch_keyset) {}

SecondOrderScope::SecondOrderScope()
    : before_(std::exchange(is_second_order, true)) {}

SecondOrderScope::~SecondOrderScope() { is_second_order = before_; }

std::shared_ptr<Generator> WithAutocast(std::shared_ptr<Generator> network,
                                        at::ScalarType dtype) {
  return std::make_shared<AutocastGenerator>(std::move(network), dtype);
}

std::shared_ptr<Discriminator> WithAutocast(
    std::shared_ptr<Discriminator> network, at::ScalarType dtype) {
  return std::make_shared<AutocastDiscriminator>(std::move(network), dtype);
}

}  // namespace gandem
