// SPDX-License-Identifier: Apache-2.0
//
// A sum of numbers that a device may still be computing. Reading a number waits
// for all work that was given to the device before; these are read together,
// and only when somebody asks for the sum.
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

  // One number, without its graph.
  void Add(const at::Tensor& number);
  void Add(const DeviceSum& other);

  // As doubles, in the order in which they came.
  double Value() const;

 private:
  struct Part {
    at::Tensor pending = {};  // undefined: known
    double value = 0;
  };
  // Known from the first Value() on.
  mutable std::vector<Part> parts_;
};

}  // namespace gandem
