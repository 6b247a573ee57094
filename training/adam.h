// SPDX-License-Identifier: Apache-2.0
//
// Adam (Kingma and Ba 2015, algorithm 1) in PyTorch's form: eps is added to the
// root of the corrected second moment, weight decay to the gradient.
//
// State: "exp_avg.<parameter>", "exp_avg_sq.<parameter>" and "step", a float32
// scalar.
//
// Owner, thread safety, errors: see optimizer.h.
#pragma once

#include "training/optimizer.h"

namespace gandem {

class Adam : public Optimizer {
 public:
  struct Options {
    double learning_rate = 2e-4;  // >= 0
    double beta1 = 0;             // [0, 1)
    double beta2 = 0.999;         // [0, 1)
    double eps = 1e-8;            // > 0
    double weight_decay = 0;      // >= 0
  };

  //   INVALID_ARGUMENT  lists every option that is out of range.
  static absl::StatusOr<std::unique_ptr<Adam>> Create(
      const Options& options, const torch::nn::Module& network);

  absl::Status Step() override;
  void ZeroGradients() override;
  std::vector<std::pair<std::string, at::Tensor>> State() const override;

 private:
  Adam(const Options& options, const torch::nn::Module& network);

  const Options options_;
  std::vector<std::string> names_;  // by parameter, as the vectors below
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> exp_avgs_;
  std::vector<at::Tensor> exp_avg_sqs_;
  at::Tensor step_;  // updates so far
};

}  // namespace gandem
