// SPDX-License-Identifier: Apache-2.0
//
// Mixed precision (Micikevicius et al. 2018) by LibTorch's autocast: inside a
// forward pass the factors of convolutions and matrix products are cast to a
// 16-bit type, parameters stay float32.
//
// A wrapped network takes and returns float32 like any other, so its callers
// need no change:
//
//   discriminator = WithAutocast(discriminator, at::kBFloat16);
//
// Code that has to stay in float32 inside a pass (spectral norm) opens a
// FullPrecision. Code that differentiates a pass twice (a gradient penalty)
// opens a SecondOrderScope.
//
// Thread safety: autocast is a state of the calling thread. Errors: Torch
// exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <memory>

#include "models/network.h"

namespace gandem {

// The way in which a thread casts on a kind of device. A backward pass that
// computes a part of the forward pass again has to cast in the same way.
struct AutocastState {
  at::DeviceType device = at::kCPU;
  bool enabled = false;
  at::ScalarType dtype = at::kBFloat16;

  static AutocastState Current(at::DeviceType device);
};

// Casts as `state` says until the end of the scope.
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

// Nothing is cast until the end of the scope.
class FullPrecision {
 public:
  FullPrecision();

 private:
  const c10::impl::ExcludeDispatchKeyGuard exclude_;
};

// For passes whose gradient is differentiated again. On a CPU, wrapped networks
// do not cast until the end of the scope. On CPUs with AMX, some padded 16-bit
// convolutions whose kernel is as large as the image are wrong by more than the
// norm of the result (seen with LibTorch 2.11), and second derivatives consist
// of such convolutions.
class SecondOrderScope {
 public:
  SecondOrderScope();
  ~SecondOrderScope();
  SecondOrderScope(const SecondOrderScope&) = delete;
  SecondOrderScope& operator=(const SecondOrderScope&) = delete;

 private:
  const bool before_;
};

// Returns the same network, including parameters, buffers and their names, with
// a forward pass that casts to `dtype` (kBFloat16 or kHalf) and returns
// float32. Both networks share all tensors. Convert the type or device of a
// network before this call.
std::shared_ptr<Generator> WithAutocast(std::shared_ptr<Generator> network,
                                        at::ScalarType dtype);
std::shared_ptr<Discriminator> WithAutocast(
    std::shared_ptr<Discriminator> network, at::ScalarType dtype);

}  // namespace gandem
