// SPDX-License-Identifier: Apache-2.0
#include "extras/lpips/lpips_network.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/faults.h"
#include "common/status.h"
#include "models/autocast.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

// The authors' code adds this to the norm that activations are divided by.
constexpr double kLpipsEpsilon = 1e-10;

struct ConvolutionSpec {
  absl::string_view name;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 1;
  bool pools = false;     // pooling precedes the convolution
  bool compared = false;  // the rectified output is compared
};

// torchvision's networks with the layer names of the lpips package.
constexpr ConvolutionSpec kAlexNet[] = {
    {.name = "net.slice1.0",
     .kernel = 11,
     .stride = 4,
     .padding = 2,
     .compared = true},
    {.name = "net.slice2.3",
     .kernel = 5,
     .padding = 2,
     .pools = true,
     .compared = true},
    {.name = "net.slice3.6", .pools = true, .compared = true},
    {.name = "net.slice4.8", .compared = true},
    {.name = "net.slice5.10", .compared = true}};
constexpr ConvolutionSpec kVgg16[] = {
    {.name = "net.slice1.0"},
    {.name = "net.slice1.2", .compared = true},
    {.name = "net.slice2.5", .pools = true},
    {.name = "net.slice2.7", .compared = true},
    {.name = "net.slice3.10", .pools = true},
    {.name = "net.slice3.12"},
    {.name = "net.slice3.14", .compared = true},
    {.name = "net.slice4.17", .pools = true},
    {.name = "net.slice4.19"},
    {.name = "net.slice4.21", .compared = true},
    {.name = "net.slice5.24", .pools = true},
    {.name = "net.slice5.26"},
    {.name = "net.slice5.28", .compared = true}};

struct TrunkSpec {
  absl::string_view name;
  absl::string_view tell;  // a layer that only this network has
  int64_t pool;
  int64_t least_pixels;
  std::span<const ConvolutionSpec> layers;
};
constexpr TrunkSpec kTrunks[] = {
    {"alex", "net.slice2.3.weight", 3, 31, kAlexNet},
    {"vgg", "net.slice2.5.weight", 2, 16, kVgg16}};

constexpr absl::string_view kFirstLinear = "lin0.model.1.weight";

bool HasTensor(const std::vector<NamedTensor>& tensors,
               absl::string_view name) {
  return std::ranges::find(tensors, name, &NamedTensor::name) != tensors.end();
}

// Takes tensors one by one and collects all faults.
class LpipsLoader {
 public:
  LpipsLoader(std::vector<NamedTensor> tensors, at::Device device)
      : device_(device) {
    for (NamedTensor& tensor : tensors) {
      std::string name = tensor.name;
      tensors_.emplace(std::move(name), std::move(tensor));
    }
  }

  // Returns float32, or an undefined tensor if it is missing or wrong. A size
  // of -1 matches any size.
  at::Tensor Take(const std::string& name, const std::vector<int64_t>& shape) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      faults_.Add(absl::StrCat(name, " is missing"));
      return {};
    }
    const NamedTensor& tensor = found->second;
    const std::optional<at::Tensor> values = FloatValuesOf(tensor);
    const auto fits = [](int64_t size, int64_t wanted) {
      return wanted < 0 ? size >= 1 : size == wanted;
    };
    if (!values.has_value() || !std::ranges::equal(tensor.shape, shape, fits)) {
      faults_.Add(absl::StrCat(
          name, " is ", DTypeName(tensor.dtype), " [",
          absl::StrJoin(tensor.shape, ", "),
          "], the network wants floating-point numbers [",
          absl::StrReplaceAll(absl::StrJoin(shape, ", "), {{"-1", "any"}}),
          "]"));
      return {};
    }
    return values->to(device_);
  }

  absl::Status ToStatus() { return faults_.ToStatus(); }

 private:
  const at::Device device_;
  std::map<std::string, NamedTensor> tensors_;
  Faults faults_{"tensors do not fit LPIPS"};
};

}  // namespace

bool LpipsNetwork::Holds(const std::vector<NamedTensor>& tensors) {
  return HasTensor(tensors, kFirstLinear);
}

absl::StatusOr<LpipsNetwork> LpipsNetwork::Load(
    std::vector<NamedTensor> tensors, at::Device device) {
  const torch::NoGradGuard no_grad;
  const auto trunk = std::ranges::find_if(kTrunks, [&](const TrunkSpec& known) {
    return HasTensor(tensors, known.tell);
  });
  if (!Holds(tensors) || trunk == std::end(kTrunks)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "not the weights of LPIPS: ",
        Holds(tensors) ? "neither AlexNet (net.slice2.3.weight) nor "
                         "VGG16 (net.slice2.5.weight) is there"
                       : absl::StrCat("there is no tensor ", kFirstLinear),
        "; torch.save(lpips.LPIPS(net=\"alex\").state_dict(), FILE) writes "
        "such a file"));
  }
  LpipsNetwork network;
  network.trunk_ = std::string(trunk->name);
  network.pool_ = trunk->pool;
  network.least_pixels_ = trunk->least_pixels;
  LpipsLoader loader(std::move(tensors), device);
  network.shift_ = loader.Take("scaling_layer.shift", {1, 3, 1, 1});
  network.scale_ = loader.Take("scaling_layer.scale", {1, 3, 1, 1});
  int64_t channels = 3;
  for (const ConvolutionSpec& spec : trunk->layers) {
    Layer& layer = network.layers_.emplace_back();
    layer.stride = spec.stride;
    layer.padding = spec.padding;
    layer.pools = spec.pools;
    layer.compared = spec.compared;
    layer.weight = loader.Take(absl::StrCat(spec.name, ".weight"),
                               {-1, channels, spec.kernel, spec.kernel});
    // If the size is unknown, the tensor is already among the faults.
    channels = layer.weight.defined() ? layer.weight.size(0) : -1;
    layer.bias = loader.Take(absl::StrCat(spec.name, ".bias"), {channels});
    if (!spec.compared) continue;
    const std::string linear =
        absl::StrCat("lin", network.linears_.size(), ".model.1.weight");
    network.linears_.push_back(loader.Take(linear, {1, channels, 1, 1}));
  }
  GANDEM_RETURN_IF_ERROR(loader.ToStatus());
  return network;
}

std::vector<at::Tensor> LpipsNetwork::Activations(
    const at::Tensor& images_NCHW) const {
  std::vector<at::Tensor> activations;
  at::Tensor values = (images_NCHW - shift_) / scale_;
  for (const Layer& layer : layers_) {
    if (layer.pools) values = at::max_pool2d(values, {pool_, pool_}, {2, 2});
    values = at::relu(at::conv2d(values, layer.weight, layer.bias,
                                 {layer.stride, layer.stride},
                                 {layer.padding, layer.padding}));
    if (!layer.compared) continue;
    const at::Tensor exact = values.to(at::kFloat);
    const at::Tensor length =
        exact.square().sum(/*dim=*/1, /*keepdim=*/true).sqrt();
    activations.push_back(exact / (length + kLpipsEpsilon));
  }
  return activations;
}

at::Tensor LpipsNetwork::Distances(const at::Tensor& a_NCHW,
                                   const at::Tensor& b_NCHW) const {
  const std::vector<at::Tensor> of_a = Activations(a_NCHW);
  const std::vector<at::Tensor> of_b = Activations(b_NCHW);
  // Differences are small, so they need full precision.
  const FullPrecision compare;
  at::Tensor sum_N = torch::zeros({a_NCHW.size(0)}, a_NCHW.options());
  for (size_t i = 0; i < linears_.size(); ++i) {
    const at::Tensor differences = (of_a[i] - of_b[i]).square();
    sum_N = sum_N + at::conv2d(differences, linears_[i]).mean({1, 2, 3});
  }
  return sum_N;
}

}  // namespace gandem
