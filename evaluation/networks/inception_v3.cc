// SPDX-License-Identifier: Apache-2.0
#include "evaluation/networks/inception_v3.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

constexpr double kBatchNormEps = 1e-3;

struct ConvolutionShape {
  std::string name;
  int64_t out;
  int64_t in;
  int64_t height;
  int64_t width;
};
using Shapes = std::vector<ConvolutionShape>;

// Blocks have torchvision's letters: A at 35 x 35, C at 17 x 17 with factored 7
// x 7 kernels, E at 8 x 8.
void AddA(Shapes& shapes, const std::string& block, int64_t in, int64_t pool) {
  shapes.insert(shapes.end(), {
                                  {block + ".branch1x1", 64, in, 1, 1},
                                  {block + ".branch5x5_1", 48, in, 1, 1},
                                  {block + ".branch5x5_2", 64, 48, 5, 5},
                                  {block + ".branch3x3dbl_1", 64, in, 1, 1},
                                  {block + ".branch3x3dbl_2", 96, 64, 3, 3},
                                  {block + ".branch3x3dbl_3", 96, 96, 3, 3},
                                  {block + ".branch_pool", pool, in, 1, 1},
                              });
}

void AddC(Shapes& shapes, const std::string& block, int64_t mid) {
  shapes.insert(shapes.end(), {
                                  {block + ".branch1x1", 192, 768, 1, 1},
                                  {block + ".branch7x7_1", mid, 768, 1, 1},
                                  {block + ".branch7x7_2", mid, mid, 1, 7},
                                  {block + ".branch7x7_3", 192, mid, 7, 1},
                                  {block + ".branch7x7dbl_1", mid, 768, 1, 1},
                                  {block + ".branch7x7dbl_2", mid, mid, 7, 1},
                                  {block + ".branch7x7dbl_3", mid, mid, 1, 7},
                                  {block + ".branch7x7dbl_4", mid, mid, 7, 1},
                                  {block + ".branch7x7dbl_5", 192, mid, 1, 7},
                                  {block + ".branch_pool", 192, 768, 1, 1},
                              });
}

void AddE(Shapes& shapes, const std::string& block, int64_t in) {
  shapes.insert(shapes.end(), {
                                  {block + ".branch1x1", 320, in, 1, 1},
                                  {block + ".branch3x3_1", 384, in, 1, 1},
                                  {block + ".branch3x3_2a", 384, 384, 1, 3},
                                  {block + ".branch3x3_2b", 384, 384, 3, 1},
                                  {block + ".branch3x3dbl_1", 448, in, 1, 1},
                                  {block + ".branch3x3dbl_2", 384, 448, 3, 3},
                                  {block + ".branch3x3dbl_3a", 384, 384, 1, 3},
                                  {block + ".branch3x3dbl_3b", 384, 384, 3, 1},
                                  {block + ".branch_pool", 192, in, 1, 1},
                              });
}

Shapes AllShapes() {
  Shapes shapes = {
      {"Conv2d_1a_3x3", 32, 3, 3, 3},   {"Conv2d_2a_3x3", 32, 32, 3, 3},
      {"Conv2d_2b_3x3", 64, 32, 3, 3},  {"Conv2d_3b_1x1", 80, 64, 1, 1},
      {"Conv2d_4a_3x3", 192, 80, 3, 3},
  };
  AddA(shapes, "Mixed_5b", 192, 32);
  AddA(shapes, "Mixed_5c", 256, 64);
  AddA(shapes, "Mixed_5d", 288, 64);
  shapes.insert(shapes.end(), {
                                  {"Mixed_6a.branch3x3", 384, 288, 3, 3},
                                  {"Mixed_6a.branch3x3dbl_1", 64, 288, 1, 1},
                                  {"Mixed_6a.branch3x3dbl_2", 96, 64, 3, 3},
                                  {"Mixed_6a.branch3x3dbl_3", 96, 96, 3, 3},
                              });
  AddC(shapes, "Mixed_6b", 128);
  AddC(shapes, "Mixed_6c", 160);
  AddC(shapes, "Mixed_6d", 160);
  AddC(shapes, "Mixed_6e", 192);
  shapes.insert(shapes.end(), {
                                  {"Mixed_7a.branch3x3_1", 192, 768, 1, 1},
                                  {"Mixed_7a.branch3x3_2", 320, 192, 3, 3},
                                  {"Mixed_7a.branch7x7x3_1", 192, 768, 1, 1},
                                  {"Mixed_7a.branch7x7x3_2", 192, 192, 1, 7},
                                  {"Mixed_7a.branch7x7x3_3", 192, 192, 7, 1},
                                  {"Mixed_7a.branch7x7x3_4", 192, 192, 3, 3},
                              });
  AddE(shapes, "Mixed_7b", 1280);
  AddE(shapes, "Mixed_7c", 2048);
  return shapes;
}

// Prefixes of pytorch-fid's own module and of the same layers in torchvision.
constexpr std::pair<absl::string_view, absl::string_view> kBlockNames[] = {
    {"blocks.0.0.", "Conv2d_1a_3x3."}, {"blocks.0.1.", "Conv2d_2a_3x3."},
    {"blocks.0.2.", "Conv2d_2b_3x3."}, {"blocks.1.0.", "Conv2d_3b_1x1."},
    {"blocks.1.1.", "Conv2d_4a_3x3."}, {"blocks.2.0.", "Mixed_5b."},
    {"blocks.2.1.", "Mixed_5c."},      {"blocks.2.2.", "Mixed_5d."},
    {"blocks.2.3.", "Mixed_6a."},      {"blocks.2.4.", "Mixed_6b."},
    {"blocks.2.5.", "Mixed_6c."},      {"blocks.2.6.", "Mixed_6d."},
    {"blocks.2.7.", "Mixed_6e."},      {"blocks.3.0.", "Mixed_7a."},
    {"blocks.3.1.", "Mixed_7b."},      {"blocks.3.2.", "Mixed_7c."},
};

std::string TorchvisionName(absl::string_view name) {
  for (const auto& [block, layer] : kBlockNames) {
    if (absl::ConsumePrefix(&name, block)) return absl::StrCat(layer, name);
  }
  return std::string(name);
}

at::Tensor InceptionV3MaxPool(const at::Tensor& x) {
  return at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2);
}

// Mean of 3 x 3 pixels without padding.
at::Tensor AveragePool(const at::Tensor& x) {
  return at::avg_pool2d(x, /*kernel_size=*/3, /*stride=*/1, /*padding=*/1,
                        /*ceil_mode=*/false, /*count_include_pad=*/false);
}

}  // namespace

bool InceptionV3::HoldsWeights(const std::vector<NamedTensor>& tensors) {
  return std::ranges::any_of(tensors, [](const NamedTensor& tensor) {
    return TorchvisionName(tensor.name) == "Conv2d_1a_3x3.conv.weight";
  });
}

// Batch norm's running statistics never change here, so they become part of
// weight and bias, in float64 to round only once.
absl::Status InceptionV3::LoadConvolution(const std::string& name,
                                          const std::vector<int64_t>& shape,
                                          const TensorReader& reader) {
  const at::Tensor weight = torch::empty(shape);
  const at::Tensor statistics = torch::empty({4, shape[0]});
  GANDEM_RETURN_IF_ERROR(
      reader.Load(name + ".", {{"conv.weight", weight},
                               {"bn.weight", statistics[0]},
                               {"bn.bias", statistics[1]},
                               {"bn.running_mean", statistics[2]},
                               {"bn.running_var", statistics[3]}}));
  const at::Tensor exact = statistics.to(at::kDouble);
  const at::Tensor scale = exact[0] / (exact[3] + kBatchNormEps).sqrt();
  convolutions_[name] = {
      .weight = (weight.to(at::kDouble) * scale.view({-1, 1, 1, 1}))
                    .to(at::kFloat)
                    .contiguous(at::MemoryFormat::ChannelsLast),
      .bias = (exact[1] - exact[2] * scale).to(at::kFloat)};
  return absl::OkStatus();
}

namespace {

// Weights may be stored in half or double precision.
void ToFloat(NamedTensor& tensor) {
  if (tensor.dtype == DType::kF32) return;
  const std::optional<at::Tensor> values = FloatValuesOf(tensor);
  // TensorReader reports other types.
  if (!values.has_value()) return;
  tensor.dtype = DType::kF32;
  tensor.bytes = SharedBytes::Copy(std::as_bytes(std::span(
      values->const_data_ptr<float>(), static_cast<size_t>(values->numel()))));
}

}  // namespace

absl::StatusOr<InceptionV3> InceptionV3::Load(std::vector<NamedTensor> tensors,
                                              at::Device device) {
  const torch::NoGradGuard no_grad;
  InceptionV3 network;
  for (NamedTensor& tensor : tensors) {
    tensor.name = TorchvisionName(tensor.name);
    ToFloat(tensor);
  }
  const bool has_output =
      std::ranges::find(tensors, "fc.weight", &NamedTensor::name) !=
      tensors.end();
  const TensorReader reader(std::move(tensors));
  if (has_output) {
    network.output_weight_ = torch::empty({kNumClasses, kFeatureDim});
    GANDEM_RETURN_IF_ERROR(
        reader.Load("fc.", {{"weight", network.output_weight_}}));
  }
  for (const auto& [name, out, in, height, width] : AllShapes()) {
    GANDEM_RETURN_IF_ERROR(
        network.LoadConvolution(name, {out, in, height, width}, reader));
  }
  for (auto& [name, convolution] : network.convolutions_) {
    convolution.weight = convolution.weight.to(device);
    convolution.bias = convolution.bias.to(device);
  }
  if (has_output) network.output_weight_ = network.output_weight_.to(device);
  return network;
}

at::Tensor InceptionV3::Same(const at::Tensor& x,
                             const std::string& name) const {
  const auto& [weight, bias] = convolutions_.at(name);
  return at::conv2d(x, weight, bias, /*stride=*/1,
                    {weight.size(2) / 2, weight.size(3) / 2})
      .relu_();
}

at::Tensor InceptionV3::Valid(const at::Tensor& x, const std::string& name,
                              int64_t stride) const {
  const auto& [weight, bias] = convolutions_.at(name);
  return at::conv2d(x, weight, bias, stride).relu_();
}

at::Tensor InceptionV3::BlockA(const at::Tensor& x,
                               const std::string& block) const {
  const at::Tensor twice =
      Same(Same(x, block + ".branch3x3dbl_1"), block + ".branch3x3dbl_2");
  return at::cat({Same(x, block + ".branch1x1"),
                  Same(Same(x, block + ".branch5x5_1"), block + ".branch5x5_2"),
                  Same(twice, block + ".branch3x3dbl_3"),
                  Same(AveragePool(x), block + ".branch_pool")},
                 /*dim=*/1);
}

at::Tensor InceptionV3::BlockB(const at::Tensor& x,
                               const std::string& block) const {
  const at::Tensor twice =
      Same(Same(x, block + ".branch3x3dbl_1"), block + ".branch3x3dbl_2");
  return at::cat({Valid(x, block + ".branch3x3", /*stride=*/2),
                  Valid(twice, block + ".branch3x3dbl_3", /*stride=*/2),
                  InceptionV3MaxPool(x)},
                 /*dim=*/1);
}

at::Tensor InceptionV3::BlockC(const at::Tensor& x,
                               const std::string& block) const {
  at::Tensor once = x;
  for (const char* part : {"1", "2", "3"}) {
    once = Same(once, block + ".branch7x7_" + part);
  }
  at::Tensor twice = x;
  for (const char* part : {"1", "2", "3", "4", "5"}) {
    twice = Same(twice, block + ".branch7x7dbl_" + part);
  }
  return at::cat({Same(x, block + ".branch1x1"), once, twice,
                  Same(AveragePool(x), block + ".branch_pool")},
                 /*dim=*/1);
}

at::Tensor InceptionV3::BlockD(const at::Tensor& x,
                               const std::string& block) const {
  at::Tensor wide = x;
  for (const char* part : {"1", "2", "3"}) {
    wide = Same(wide, block + ".branch7x7x3_" + part);
  }
  return at::cat({Valid(Same(x, block + ".branch3x3_1"), block + ".branch3x3_2",
                        /*stride=*/2),
                  Valid(wide, block + ".branch7x7x3_4", /*stride=*/2),
                  InceptionV3MaxPool(x)},
                 /*dim=*/1);
}

// The two E blocks differ in their pooling: the FID network has a maximum in
// the last one.
at::Tensor InceptionV3::BlockE(const at::Tensor& x, const at::Tensor& pooled,
                               const std::string& block) const {
  const at::Tensor once = Same(x, block + ".branch3x3_1");
  const at::Tensor twice =
      Same(Same(x, block + ".branch3x3dbl_1"), block + ".branch3x3dbl_2");
  return at::cat(
      {Same(x, block + ".branch1x1"), Same(once, block + ".branch3x3_2a"),
       Same(once, block + ".branch3x3_2b"),
       Same(twice, block + ".branch3x3dbl_3a"),
       Same(twice, block + ".branch3x3dbl_3b"),
       Same(pooled, block + ".branch_pool")},
      /*dim=*/1);
}

at::Tensor InceptionV3::Layer(const at::Tensor& images_NCHW,
                              int64_t dims) const {
  at::Tensor x = Valid(images_NCHW, "Conv2d_1a_3x3", /*stride=*/2);
  x = Valid(x, "Conv2d_2a_3x3", /*stride=*/1);
  x = InceptionV3MaxPool(Same(x, "Conv2d_2b_3x3"));
  if (dims == x.size(1)) return x;
  x = Same(x, "Conv2d_3b_1x1");
  x = InceptionV3MaxPool(Valid(x, "Conv2d_4a_3x3", /*stride=*/1));
  if (dims == x.size(1)) return x;
  for (const char* block : {"Mixed_5b", "Mixed_5c", "Mixed_5d"}) {
    x = BlockA(x, block);
  }
  x = BlockB(x, "Mixed_6a");
  for (const char* block : {"Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"}) {
    x = BlockC(x, block);
  }
  if (dims == x.size(1)) return x;
  x = BlockD(x, "Mixed_7a");
  x = BlockE(x, AveragePool(x), "Mixed_7b");
  return BlockE(
      x, at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/1, /*padding=*/1),
      "Mixed_7c");
}

Features InceptionV3::Forward(const at::Tensor& images_NCHW,
                              int64_t dims) const {
  const torch::NoGradGuard no_grad;
  // The mean is float32 whatever the layer's type.
  Features output = {
      .features_ND =
          Layer(images_NCHW, dims).mean({2, 3}, /*keepdim=*/false, at::kFloat)};
  if (has_logits() && dims == kFeatureDim) {
    output.logits_NK = at::linear(output.features_ND, output_weight_);
  }
  return output;
}

}  // namespace gandem
