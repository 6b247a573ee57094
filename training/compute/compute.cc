// SPDX-License-Identifier: Apache-2.0
#include "training/compute/compute.h"

#include <set>
#include <string>

#include "models/torch.h"

namespace gandem {
namespace {

// Prints each warning once, which LibTorch repeats at every call.
class WarnOnce : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (said_.insert(warning.msg()).second)
      c10::WarningHandler::process(warning);
  }

 private:
  std::set<std::string> said_;
};

c10::WarningHandler* OnceOfThisThread() {
  thread_local WarnOnce once;
  return &once;
}

void SetKernels(bool tf32_convolutions, bool tf32_products, bool deterministic,
                bool by_trial) {
  at::Context& torch = at::globalContext();
  torch.setAllowTF32CuDNN(tf32_convolutions);
  torch.setAllowTF32CuBLAS(tf32_products);
  torch.setDeterministicCuDNN(deterministic);
  torch.setDeterministicAlgorithms(deterministic, /*warn_only=*/true);
  torch.setBenchmarkCuDNN(by_trial);
}

}  // namespace

void UseThreads(const Compute& compute) {
  if (at::get_num_threads() != compute.threads) {
    at::set_num_threads(compute.threads);
  }
}

// A copy from pageable memory would block. The allocator keeps pinned memory
// until the copy is complete.
at::Tensor ToDevice(const at::Tensor& host, at::Device device) {
  if (device.is_cpu()) return host;
  return host.pin_memory().to(device, /*non_blocking=*/true);
}

struct KernelScope::Before {
  bool tf32_convolutions = at::globalContext().allowTF32CuDNN();
  bool tf32_products = at::globalContext().allowTF32CuBLAS();
  bool deterministic = at::globalContext().deterministicCuDNN();
  bool by_trial = at::globalContext().benchmarkCuDNN();
  c10::WarningUtils::WarningHandlerGuard warnings{OnceOfThisThread()};
};

KernelScope::KernelScope(const Compute& compute)
    : before_(compute.device.is_cuda() ? std::make_unique<const Before>()
                                       : nullptr) {
  if (before_ == nullptr) return;
  // Otherwise LibTorch fills new tensors, to expose uninitialized reads.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  SetKernels(compute.tf32, compute.tf32, compute.deterministic,
             /*by_trial=*/!compute.deterministic);
}

KernelScope::~KernelScope() {
  if (before_ == nullptr) return;
  SetKernels(before_->tf32_convolutions, before_->tf32_products,
             before_->deterministic, before_->by_trial);
}

}  // namespace gandem
