// SPDX-License-Identifier: Apache-2.0
//
// A sum of numbers that a device may still be computing. Reading one waits for
// all work that the device was given before, so they are read when somebody
// asks for the sum and no sooner.
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

  // One number, without its graph. It stays as it is until it is read.
  void Add(const at::Tensor& number);
  void Add(const DeviceSum& other);
  // Multiplies all that was added so far.
  void Scale(double factor);

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
