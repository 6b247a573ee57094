// SPDX-License-Identifier: Apache-2.0
#include "training/state/device_sum.h"

#include "models/torch.h"

namespace gandem {

void DeviceSum::Add(const at::Tensor& number) {
  if (number.is_cpu()) {
    parts_.push_back({.value = number.item<double>()});
  } else {
    parts_.push_back({.pending = number.detach().to(at::kDouble)});
  }
}

void DeviceSum::Add(const DeviceSum& other) {
  parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
}

double DeviceSum::Value() const {
  std::vector<at::Tensor> pending;
  for (const Part& part : parts_) {
    if (part.pending.defined()) pending.push_back(part.pending);
  }
  if (!pending.empty()) {
    const at::Tensor read = at::stack(pending).to(at::kCPU);
    const double* value = read.const_data_ptr<double>();
    for (Part& part : parts_) {
      if (part.pending.defined()) part = {.value = *value++};
    }
  }
  double sum = 0;
  for (const Part& part : parts_) sum += part.value;
  return sum;
}

}  // namespace gandem
