// SPDX-License-Identifier: Apache-2.0
//
// Runs a loop compiled for AVX2 if the CPU has it, otherwise for any CPU:
//
//   struct Sum {
//     [[gnu::always_inline]] void operator()() const { ... }
//   };
//   RunVectorized(Sum{...});
//
// Results are equal: no operation is contracted or reordered.
//
// Thread safety: a pure function.
#pragma once

namespace gandem {

#if defined(__x86_64__)
namespace vectorized_internal {
template <typename Work>
[[gnu::target("avx2")]] void RunAvx2(const Work& work) {
  work();
}
}  // namespace vectorized_internal
#endif

template <typename Work>
void RunVectorized(const Work& work) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    return vectorized_internal::RunAvx2(work);
  }
#endif
  work();
}

}  // namespace gandem
