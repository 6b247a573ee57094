// SPDX-License-Identifier: Apache-2.0
//
// Tensors of tests/goldens, written by the scripts in tests/oracles.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <map>
#include <set>
#include <string>

namespace gandem::testing {

class Golden {
 public:
  // Reads `file` in tests/goldens. A file that cannot be read fails the test.
  explicit Golden(const std::string& file);

  // Returns a tensor; fails the test if the name is missing.
  at::Tensor Get(const std::string& name) const;

  bool Has(const std::string& name) const { return tensors_.contains(name); }

  // Returns all names that begin with `prefix`.
  std::set<std::string> NamesWithPrefix(const std::string& prefix) const;

  // Sets parameters and buffers to prefix + name, converting their type.
  void LoadNetwork(const std::string& prefix, torch::nn::Module& network) const;

 private:
  std::map<std::string, at::Tensor> tensors_;
};

// Returns ||actual - expected|| / ||expected||; infinity if shapes differ.
double RelativeError(const at::Tensor& actual, const at::Tensor& expected);

}  // namespace gandem::testing
