// SPDX-License-Identifier: Apache-2.0
//
// A sum of numbers that a device may still be computing. Numbers are read only
// in Value(), because reading waits for all earlier work of the device.
//
// Owner: values. Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace gandem {

class DeviceSum {
 public:
  DeviceSum() = default;
  explicit DeviceSum(double first) : parts_({{.value = first}}) {}
  explicit DeviceSum(const at::Tensor& first) { Add(first); }

  // Adds one number, detached from its graph. The caller must not change it.
  void Add(const at::Tensor& number);
  void Add(const DeviceSum& other);
  void Scale(double factor);

  // Sums as double, in the order of Add.
  double Value() const;

 private:
  struct Part {
    at::Tensor pending = {};  // undefined: `value` is known
    double value = 0;
  };
  // Value() replaces pending parts.
  mutable std::vector<Part> parts_;
};

}  // namespace gandem
