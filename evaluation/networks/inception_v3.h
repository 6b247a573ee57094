// SPDX-License-Identifier: Apache-2.0
//
// Inception v3 (Szegedy et al. 2016, "Rethinking the Inception architecture")
// as TensorFlow's graph inception-2015-12-05 has it, which FID is defined by
// (Heusel et al. 2017). It differs from the paper and from torchvision: 1008
// classes, averages that leave out padding, and a maximum in place of the
// average in the last block's pool branch.
//
// Weights are those of pytorch-fid and torch-fidelity, by torchvision's names
// or those of pytorch-fid's own module (blocks.0.0.conv.weight ...). Batch norm
// is folded into the convolutions when they are loaded.
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
  // Of the layers that Forward can end at: after the first maximum, after the
  // second one, after the last block at 17 x 17, and the last (pytorch-fid's
  // --dims).
  static constexpr int64_t kLayerDims[] = {64, 192, 768, kFeatureDim};
  static constexpr int64_t kNumClasses = 1008;

  // Whether there is the first convolution's weight.
  static bool HoldsWeights(const std::vector<NamedTensor>& tensors);

  // fc.weight may be missing: then there are no logits. fc.bias is not used.
  // Weights of half or double precision are made single.
  //   INVALID_ARGUMENT  lists the tensors that are missing or misshapen.
  static absl::StatusOr<InceptionV3> Load(std::vector<NamedTensor> tensors,
                                          at::Device device = at::kCPU);

  bool has_logits() const { return output_weight_.defined(); }

  // images_NCHW: float32 [N, 3, 299, 299], as ResizeForInception makes them, on
  // the weights' device. Returns, in float32, what comes after the last average
  // pool, and logits without bias; undefined: no fc.weight. With `dims`, one of
  // kLayerDims, that layer's mean over the pixels; only the last one has
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

  // Convolution and ReLU; sides stay (kSame), or the kernel stays inside.
  at::Tensor Same(const at::Tensor& x, const std::string& name) const;
  at::Tensor Valid(const at::Tensor& x, const std::string& name,
                   int64_t stride) const;
  // The blocks that begin with the image, up to the layer with `dims`.
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
