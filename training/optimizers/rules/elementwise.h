// SPDX-License-Identifier: Apache-2.0
//
// Runs an update rule's formula, written once, in one of two ways. On the CPU a
// single fused loop computes it per number (Element), reading and writing every
// tensor once. Otherwise, and for tensors with different layouts, LibTorch's
// foreach operations compute it for all tensors together (TensorBatch).
//
//   ForEachElement(
//       [&](auto& p, auto& m, auto g) {
//         m = beta * m + (1 - beta) * g;
//         p = p - learning_rate * m;
//       },
//       parameters_, exp_avgs_, gradients);
//
// The loop is compiled without contraction to fused multiply-adds, so that all
// CPUs and thread counts give the same bits.
//
// Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

// One number of a tensor. Constants are converted to its type.
template <std::floating_point T>
struct Element {
  T value;

  friend Element operator+(Element a, Element b) { return {a.value + b.value}; }
  friend Element operator-(Element a, Element b) { return {a.value - b.value}; }
  friend Element operator*(Element a, Element b) { return {a.value * b.value}; }
  friend Element operator/(Element a, Element b) { return {a.value / b.value}; }
  friend Element operator+(Element a, double b) {
    return {a.value + static_cast<T>(b)};
  }
  friend Element operator*(double a, Element b) {
    return {static_cast<T>(a) * b.value};
  }
  friend Element Sqrt(Element a) { return {std::sqrt(a.value)}; }
  friend Element Sign(Element a) {
    return {static_cast<T>((a.value > 0) - (a.value < 0))};
  }
};

struct TensorBatch {
  Tensors tensors;
};
TensorBatch operator+(const TensorBatch& a, const TensorBatch& b);
TensorBatch operator-(const TensorBatch& a, const TensorBatch& b);
TensorBatch operator*(const TensorBatch& a, const TensorBatch& b);
TensorBatch operator/(const TensorBatch& a, const TensorBatch& b);
TensorBatch operator+(const TensorBatch& a, double b);
TensorBatch operator*(double a, const TensorBatch& b);
TensorBatch Sqrt(const TensorBatch& a);
TensorBatch Sign(const TensorBatch& a);

template <typename T, typename Plain>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Plain>;

namespace elementwise_internal {

// Splits the tensors into rows and calls row(data of each tensor, count) for
// each, on LibTorch's threads. The first `num_written` tensors are written.
using Row = c10::function_ref<void(char** data, int64_t count)>;
void ForEachRow(std::span<const at::Tensor* const> tensors, int num_written,
                Row row);

// Returns whether the tensors are on the CPU, with equal float or double types,
// shapes and strides.
bool HaveOneLoop(std::span<const at::Tensor* const> tensors);

// Stores the results of a formula, except in const arguments.
inline void Store(const Tensors&, const TensorBatch&) {}
void Store(Tensors& tensors, const TensorBatch& values);
template <typename T>
void Store(T& number, Element<T> value) {
  number = value.value;
}
template <typename T>
void Store(const T&, Element<T>) {}

template <typename T, typename Formula, typename... Numbers>
[[gnu::always_inline]] inline void Loop(const Formula& formula, int64_t count,
                                        Numbers* __restrict... data) {
  for (int64_t i = 0; i < count; ++i) {
    [&](auto... values) {
      formula(values...);
      (Store(data[i], values), ...);
    }(Element<T>{data[i]}...);
  }
}

#if defined(__x86_64__)
template <typename T, typename Formula, typename... Numbers>
[[gnu::target("avx2")]] void LoopAvx2(const Formula& formula, int64_t count,
                                      Numbers*... data) {
  Loop<T>(formula, count, data...);
}
#endif

template <typename T, typename Formula, typename... Numbers>
void BestLoop(const Formula& formula, int64_t count, Numbers*... data) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    return LoopAvx2<T>(formula, count, data...);
  }
#endif
  Loop<T>(formula, count, data...);
}

template <typename T, typename... Lists, typename Formula, size_t... kIndex>
void LoopOver(const Formula& formula, char** data, int64_t count,
              std::index_sequence<kIndex...>) {
  BestLoop<T>(
      formula, count,
      reinterpret_cast<std::conditional_t<std::is_const_v<Lists>, const T, T>*>(
          data[kIndex])...);
}

}  // namespace elementwise_internal

// Calls `formula` for corresponding elements of the i-th tensor of every list,
// for all i. Const lists are only read and must come last.
template <typename Formula, MaybeConst<Tensors>... Lists>
void ForEachElement(const Formula& formula, Lists&... lists) {
  namespace internal = elementwise_internal;
  constexpr int kNumWritten = (0 + ... + (std::is_const_v<Lists> ? 0 : 1));
  const size_t size = std::max({lists.size()...});
  bool one_loop = true;
  for (size_t i = 0; i < size; ++i) {
    one_loop =
        one_loop &&
        internal::HaveOneLoop(
            std::array<const at::Tensor*, sizeof...(lists)>{&lists[i]...});
  }
  if (!one_loop) {
    [&](auto... values) {
      formula(values...);
      (internal::Store(lists, values), ...);
    }(TensorBatch{lists}...);
    return;
  }
  for (size_t i = 0; i < size; ++i) {
    const std::array<const at::Tensor*, sizeof...(lists)> tensors = {
        &lists[i]...};
    const bool is_float = tensors.front()->scalar_type() == at::kFloat;
    internal::ForEachRow(tensors, kNumWritten, [&](char** data, int64_t count) {
      constexpr std::index_sequence_for<Lists...> kIndices;
      if (is_float) {
        internal::LoopOver<float, Lists...>(formula, data, count, kIndices);
      } else {
        internal::LoopOver<double, Lists...>(formula, data, count, kIndices);
      }
    });
  }
}

// Calls `formula` for single tensors; const tensors are only read.
template <typename Formula, MaybeConst<at::Tensor>... OneTensor>
void ForEachElement(const Formula& formula, OneTensor&... tensors) {
  [&](auto&&... lists) {
    ForEachElement(formula, lists...);
  }(std::conditional_t<std::is_const_v<OneTensor>, const Tensors, Tensors>{
      tensors}...);
}

}  // namespace gandem
