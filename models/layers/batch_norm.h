// SPDX-License-Identifier: Apache-2.0
//
// Batch normalization (Ioffe and Szegedy 2015) for NC and NCHW input. Tensors
// are named as in torch.nn.BatchNorm2d: parameters weight and bias; buffers
// running_mean, running_var and num_batches_tracked (always int64).
//
//   kTrain     normalizes by the batch and records its statistics
//   kFrozen    normalizes by the batch, records nothing
//   kEvaluate  normalizes by the running statistics
//
// "The batch" is the input or, after SyncOver, the input of all workers of a
// role together (sync batch norm), with any number of images per worker. Values
// and derivatives equal those of one layer that gets all images.
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <memory>
#include <utility>

#include "models/fleet_gather.h"
#include "models/layers/layer.h"

namespace gandem {

class BatchNorm : public Layer {
 public:
  struct Options {
    int64_t num_features = 0;  // required, >= 1
    double eps = 1e-5;
    double momentum = 0.1;  // weight of the new statistics, as in PyTorch
    bool affine = true;     // false: no weight and no bias
  };

  explicit BatchNorm(Options options);

  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;

  // Sets mean 0, variance 1 and no batches.
  void ResetStatistics();

  // Makes batches span all ranks of `fleet`.
  void SyncOver(std::shared_ptr<FleetGather> fleet) {
    fleet_ = std::move(fleet);
  }

  using torch::nn::Module::to;
  void to(torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, torch::Dtype dtype,
          bool non_blocking = false) override;

 private:
  at::Tensor OverFleet(const at::Tensor& input, bool record);

  const Options options_;
  std::shared_ptr<FleetGather> fleet_;  // null: no sync batch norm
  at::Tensor weight_;
  at::Tensor bias_;
  at::Tensor running_mean_;
  at::Tensor running_var_;
  at::Tensor num_batches_tracked_;
};

inline std::shared_ptr<Layer> MakeBatchNorm(
    int64_t num_features, double eps = BatchNorm::Options().eps) {
  return std::make_shared<BatchNorm>(
      BatchNorm::Options{.num_features = num_features, .eps = eps});
}

// Calls SyncOver for all batch norm layers in a network.
void SyncBatchNorm(torch::nn::Module& network,
                   const std::shared_ptr<FleetGather>& fleet);

}  // namespace gandem
