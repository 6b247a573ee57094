// SPDX-License-Identifier: Apache-2.0
//
// Inception v3 (Szegedy et al. 2016, "Rethinking the Inception architecture")
// as in TensorFlow's graph inception-2015-12-05, which defines FID (Heusel et
// al. 2017). It differs from the paper and from torchvision: 1008 classes,
// averages that leave out padding, and a maximum in place of the average in the
// last block's pool branch.
//
// Weights are those of pytorch-fid and torch-fidelity, with the names of
// torchvision or of pytorch-fid's own module (blocks.0.0.conv.weight ...).
// Batch norm is folded into the convolutions when they are loaded.
//
// Owner: the extractor. Thread safety: one compute thread.
// Errors: Torch exceptions; Status where weights are loaded.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"
#include "evaluation/networks/features.h"

namespace gandem {

class InceptionV3 {
 public:
  static constexpr int64_t kFeatureDim = 2048;
  // Dimensions of the layers that Forward can end at: after the first maximum,
  // after the second one, after the last block at 17 x 17, and the last
  // (pytorch-fid's --dims).
  static constexpr int64_t kLayerDims[] = {64, 192, 768, kFeatureDim};
  static constexpr int64_t kNumClasses = 1008;

  // Whether the first convolution's weight is among `tensors`.
  static bool HoldsWeights(const std::vector<NamedTensor>& tensors);

  // Without fc.weight there are no logits; fc.bias is not used. Half and double
  // precision become single.
  //   INVALID_ARGUMENT  lists the tensors that are missing or misshapen.
  static absl::StatusOr<InceptionV3> Load(std::vector<NamedTensor> tensors,
                                          at::Device device = at::kCPU);

  bool has_logits() const { return output_weight_.defined(); }

  // images_NCHW: float32 [N, 3, 299, 299], as ResizeForInception makes them, on
  // the weights' device. Returns float32: the last average pool, and logits
  // without bias (undefined without fc.weight). `dims`, one of kLayerDims,
  // selects a layer; earlier ones are averaged over their pixels and have no
  // logits.
  Features Forward(const at::Tensor& images_NCHW,
                   int64_t dims = kFeatureDim) const;

 private:
  struct Convolution {
    at::Tensor weight;
    at::Tensor bias;
  };

  InceptionV3() = default;
  absl::Status LoadConvolution(const std::string& name,
                               const std::vector<int64_t>& shape,
                               const class TensorReader& reader);

  // Convolution and ReLU. Same keeps height and width; Valid does not pad.
  at::Tensor Same(const at::Tensor& x, const std::string& name) const;
  at::Tensor Valid(const at::Tensor& x, const std::string& name,
                   int64_t stride) const;
  // Runs the blocks from the image up to the layer with `dims`.
  at::Tensor Layer(const at::Tensor& images_NCHW, int64_t dims) const;
  at::Tensor BlockA(const at::Tensor& x, const std::string& block) const;
  at::Tensor BlockB(const at::Tensor& x, const std::string& block) const;
  at::Tensor BlockC(const at::Tensor& x, const std::string& block) const;
  at::Tensor BlockD(const at::Tensor& x, const std::string& block) const;
  // `pooled`: the input of the pool branch's convolution.
  at::Tensor BlockE(const at::Tensor& x, const at::Tensor& pooled,
                    const std::string& block) const;

  std::map<std::string, Convolution> convolutions_;  // by torchvision's name
  at::Tensor output_weight_;
};

}  // namespace gandem
