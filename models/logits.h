// SPDX-License-Identifier: Apache-2.0
//
// A discriminator's logits of a batch: one output [N, ...] (for patch
// discriminators a map per image), or several outputs of different shapes
// (several scales or discriminators). Losses and penalties are computed per
// output and averaged, so that large outputs do not dominate.
//
// Thread safety: values. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/check.h"

namespace gandem {

class Logits {
 public:
  Logits() = default;
  // Implicit, since most networks have one output.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Logits(at::Tensor output) : outputs_{std::move(output)} {}
  // `outputs` must not be empty.
  explicit Logits(std::vector<at::Tensor> outputs)
      : outputs_(std::move(outputs)) {
    GANDEM_CHECK(!outputs_.empty());
  }

  const std::vector<at::Tensor>& outputs() const { return outputs_; }
  // Returns the logits of a network with a single output.
  const at::Tensor& One() const {
    GANDEM_CHECK(outputs_.size() == 1);
    return outputs_.front();
  }

  // Returns the mean of value(output), which must all have one shape.
  at::Tensor MeanOf(
      absl::FunctionRef<at::Tensor(const at::Tensor& output)> value) const {
    return MeanOver([&](size_t i) { return value(outputs_[i]); });
  }
  // Returns the mean of value(output, corresponding output of `other`).
  at::Tensor MeanOf(const Logits& other,
                    absl::FunctionRef<at::Tensor(const at::Tensor& output,
                                                 const at::Tensor& other)>
                        value) const {
    GANDEM_CHECK(outputs_.size() == other.outputs_.size());
    return MeanOver(
        [&](size_t i) { return value(outputs_[i], other.outputs_[i]); });
  }

  Logits Each(
      absl::FunctionRef<at::Tensor(const at::Tensor& output)> change) const {
    Logits result;
    for (const at::Tensor& output : outputs_) {
      result.outputs_.push_back(change(output));
    }
    return result;
  }

 private:
  at::Tensor MeanOver(absl::FunctionRef<at::Tensor(size_t i)> value) const {
    GANDEM_CHECK(!outputs_.empty());
    at::Tensor sum = value(0);
    if (outputs_.size() == 1) return sum;
    for (size_t i = 1; i < outputs_.size(); ++i) sum = sum.add(value(i));
    return sum.div(static_cast<double>(outputs_.size()));
  }

  std::vector<at::Tensor> outputs_;
};

}  // namespace gandem
