// SPDX-License-Identifier: Apache-2.0
//
// Mixed precision (Micikevicius et al. 2018) with LibTorch's autocast: forward
// passes cast the factors of convolutions and matrix products to a 16-bit type;
// parameters and the network's inputs and outputs stay float32:
//
//   discriminator = WithAutocast(discriminator, at::kBFloat16);
//
// Code that must compute in float32 inside a pass (spectral norm) opens a
// FullPrecision scope. Code that differentiates a pass twice (a gradient
// penalty) opens a SecondOrderScope.
//
// Thread safety: autocast is a state of the calling thread. Errors: Torch
// exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <memory>

#include "models/network.h"

namespace gandem {

// Autocast settings of a thread for a kind of device. A backward pass that
// recomputes a part of the forward pass must use the same settings.
struct AutocastState {
  at::DeviceType device = at::kCPU;
  bool enabled = false;
  at::ScalarType dtype = at::kBFloat16;

  static AutocastState Current(at::DeviceType device);
};

// Applies `state` until the end of the scope.
class AutocastScope {
 public:
  explicit AutocastScope(const AutocastState& state);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const AutocastState before_;
  const bool cached_before_;
};

// Disables casts until the end of the scope.
class FullPrecision {
 public:
  FullPrecision();

 private:
  const c10::impl::ExcludeDispatchKeyGuard exclude_;
};

// For passes whose gradient is differentiated again: wrapped networks do not
// cast on a CPU until the end of the scope. Second derivatives contain padded
// 16-bit convolutions with kernels as large as the image, which LibTorch 2.11
// computes incorrectly on CPUs with AMX.
class SecondOrderScope {
 public:
  SecondOrderScope();
  ~SecondOrderScope();
  SecondOrderScope(const SecondOrderScope&) = delete;
  SecondOrderScope& operator=(const SecondOrderScope&) = delete;

 private:
  const bool before_;
};

// Returns a network that casts to `dtype` (kBFloat16 or kHalf) in the forward
// pass and returns float32. Shares all tensors, with the same names. The type
// and device of `network` must be final.
std::shared_ptr<Generator> WithAutocast(std::shared_ptr<Generator> network,
                                        at::ScalarType dtype);
std::shared_ptr<Discriminator> WithAutocast(
    std::shared_ptr<Discriminator> network, at::ScalarType dtype);

}  // namespace gandem
