// SPDX-License-Identifier: Apache-2.0
#include "training/state/device_sum.h"

#include "models/torch.h"

namespace gandem {

void DeviceSum::Add(const at::Tensor& number) {
  parts_.push_back({.pending = number.detach()});
}

void DeviceSum::Add(const DeviceSum& other) {
  parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
}

void DeviceSum::Scale(double factor) {
  for (Part& part : parts_) {
    if (part.pending.defined()) part.pending = part.pending * factor;
    part.value *= factor;
  }
}

double DeviceSum::Value() const {
  double sum = 0;
  for (Part& part : parts_) {
    if (part.pending.defined()) part = {.value = part.pending.item<double>()};
    sum += part.value;
  }
  return sum;
}

}  // namespace gandem
