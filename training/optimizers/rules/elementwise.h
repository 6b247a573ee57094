// SPDX-License-Identifier: Apache-2.0
//
// Formulas of update rules, applied to one parameter with its state after the
// other:
//
//   ForEachElement(
//       [&](auto& p, auto& m, auto g) {
//         m = beta * m + (1 - beta) * g;
//         p = p - learning_rate * m;
//       },
//       parameters_, exp_avgs_, gradients);
//
// On the CPU a formula sees a part of the tensors at a time, so that what it
// computes in between stays in the processor's cache.
//
// Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sqrt.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "common/check.h"
#include "training/optimizers/rules/update_rule.h"

namespace gandem {

template <typename T, typename Plain>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Plain>;

namespace elementwise_internal {

// Numbers of a part: several tensors of them fit into a core's cache.
inline constexpr int64_t kPart = 1 << 16;

// Whether the tensors are on the CPU and the same in memory, without gaps.
inline bool HaveParts(std::initializer_list<const at::Tensor*> tensors) {
  const at::Tensor& first = **tensors.begin();
  return first.is_cpu() && first.is_non_overlapping_and_dense() &&
         std::ranges::all_of(tensors, [&](const at::Tensor* tensor) {
           return tensor->sizes() == first.sizes() &&
                  tensor->strides() == first.strides();
         });
}

inline at::Tensor PartOf(const at::Tensor& tensor, int64_t first) {
  return at::as_strided(tensor, {std::min(kPart, tensor.numel() - first)}, {1},
                        tensor.storage_offset() + first);
}

template <typename... OneTensor, typename Formula>
void Apply(const Formula& formula,
           std::conditional_t<true, at::Tensor, OneTensor>... tensors) {
  const auto store = [](auto& tensor, const at::Tensor& value, bool keep) {
    if (!keep && !value.is_same(tensor)) tensor.copy_(value);
  };
  [&](auto... values) {
    formula(values...);
    (store(tensors, values, std::is_const_v<OneTensor>), ...);
  }(tensors...);
}

}  // namespace elementwise_internal

// The square root, rounded as IEEE 754 wants it, which LibTorch's on the CPU is
// not. `x` has no gaps in memory.
inline at::Tensor Sqrt(const at::Tensor& x) {
  if (!x.is_cpu()) return at::sqrt(x);
  GANDEM_CHECK(x.is_non_overlapping_and_dense());
  at::Tensor roots = at::empty_like(x);
  const auto fill = [&]<typename T>(T) {
    const T* const from = x.const_data_ptr<T>();
    std::transform(from, from + x.numel(), roots.mutable_data_ptr<T>(),
                   [](T value) { return std::sqrt(value); });
  };
  x.scalar_type() == at::kFloat ? fill(float()) : fill(double());
  return roots;
}

// Calls `formula` with the tensors and stores what it assigns to those that are
// not const.
template <typename Formula, MaybeConst<at::Tensor>... OneTensor>
void ForEachElement(const Formula& formula, OneTensor&... tensors) {
  namespace internal = elementwise_internal;
  if (!internal::HaveParts({&tensors...})) {
    internal::Apply<OneTensor...>(formula, tensors...);
    return;
  }
  const int64_t count = std::max({tensors.numel()...});
  for (int64_t first = 0; first < count; first += internal::kPart) {
    internal::Apply<OneTensor...>(formula, internal::PartOf(tensors, first)...);
  }
}

// The same for the i-th tensors of all lists, for all i.
template <typename Formula, MaybeConst<Tensors>... Lists>
void ForEachElement(const Formula& formula, Lists&... lists) {
  const size_t size = std::max({lists.size()...});
  for (size_t i = 0; i < size; ++i) ForEachElement(formula, lists[i]...);
}

}  // namespace gandem
