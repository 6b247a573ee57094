// SPDX-License-Identifier: Apache-2.0
#include "training/state/module_state.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "models/torch.h"

namespace gandem {
namespace {

std::optional<DType> ToDType(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return DType::kF32;
    case at::kDouble:
      return DType::kF64;
    case at::kLong:
      return DType::kI64;
    case at::kByte:
      return DType::kU8;
    default:
      return std::nullopt;
  }
}

at::ScalarType ToTorch(DType type) {
  switch (type) {
    case DType::kF32:
      return at::kFloat;
    case DType::kF64:
      return at::kDouble;
    case DType::kI64:
      return at::kLong;
    case DType::kU8:
      return at::kByte;
    default:
      return at::ScalarType::Undefined;
  }
}

// Returns the tensor contiguous on the CPU; copies only if needed.
at::Tensor OnHost(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor.detach().contiguous();
  const at::Tensor host = torch::empty(
      tensor.sizes(),
      torch::dtype(tensor.scalar_type()).pinned_memory(tensor.is_cuda()));
  return host.copy_(tensor.detach());
}

TensorsByName Listed(const torch::OrderedDict<std::string, at::Tensor>& items) {
  TensorsByName list;
  for (const auto& item : items) list.emplace_back(item.key(), item.value());
  return list;
}

// Returns whether a tensor is a scalar, which may differ in type: older
// checkpoints count updates in float32.
bool IsNumber(const NamedTensor& tensor) {
  return tensor.shape.empty() &&
         ToTorch(tensor.dtype) != at::ScalarType::Undefined;
}

}  // namespace

TensorsByName ParametersOf(const torch::nn::Module& module) {
  return Listed(module.named_parameters());
}

TensorsByName TrainedParametersOf(const torch::nn::Module& module) {
  TensorsByName trained = ParametersOf(module);
  std::erase_if(trained,
                [](const auto& item) { return !item.second.requires_grad(); });
  return trained;
}

TensorsByName FrozenParametersOf(const torch::nn::Module& module) {
  TensorsByName frozen = ParametersOf(module);
  std::erase_if(frozen,
                [](const auto& item) { return item.second.requires_grad(); });
  return frozen;
}

TensorsByName BuffersOf(const torch::nn::Module& module) {
  return Listed(module.named_buffers());
}

TensorsByName StateOf(const torch::nn::Module& module) {
  TensorsByName state = ParametersOf(module);
  for (auto& buffer : BuffersOf(module)) state.push_back(std::move(buffer));
  return state;
}

int64_t BytesOf(const TensorsByName& tensors) {
  int64_t sum = 0;
  for (const auto& [name, tensor] : tensors) {
    sum += static_cast<int64_t>(tensor.nbytes());
  }
  return sum;
}

// Omits names: both sides make the same network from the same config.
SharedBytes PackModule(const torch::nn::Module& module) {
  torch::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const auto& [name, tensor] : StateOf(module)) {
    parts.push_back(tensor.detach().reshape({-1}).view(at::kByte));
  }
  // Transfer all tensors at once.
  auto owner = std::make_shared<const at::Tensor>(OnHost(at::cat(parts)));
  return SharedBytes(owner,
                     {static_cast<const std::byte*>(owner->const_data_ptr()),
                      static_cast<size_t>(owner->nbytes())});
}

absl::Status UnpackModule(const SharedBytes& bytes, torch::nn::Module& module) {
  torch::NoGradGuard no_grad;
  const TensorsByName state = StateOf(module);
  const auto size = static_cast<size_t>(BytesOf(state));
  if (bytes.size() != size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "network state of ", bytes.size(), " bytes, but this network has ",
        size, ": do both workers run the same config and version?"));
  }
  // from_blob only reads the mutable pointer. Transfer all tensors at once.
  const at::Tensor all =
      torch::from_blob(const_cast<std::byte*>(bytes.data()),
                       {static_cast<int64_t>(size)}, torch::dtype(at::kByte))
          .to(state.front().second.device());
  int64_t offset = 0;
  for (const auto& [name, tensor] : state) {
    const auto length = static_cast<int64_t>(tensor.nbytes());
    at::Tensor part = all.narrow(0, offset, length);
    // Align the part if tensors of smaller elements precede it.
    if (offset % tensor.element_size() != 0) part = part.clone();
    at::Tensor(tensor).copy_(
        part.view(tensor.scalar_type()).view(tensor.sizes()));
    offset += length;
  }
  return absl::OkStatus();
}

void AppendTensors(const std::string& prefix, const TensorsByName& tensors,
                   std::vector<NamedTensor>& out) {
  for (const auto& [name, tensor] : tensors) {
    out.push_back(ViewAsNamed(prefix + name, OnHost(tensor)));
    out.back().bytes = SharedBytes::Copy(out.back().bytes.span());
  }
}

NamedTensor ViewAsNamed(std::string name, const at::Tensor& host) {
  const auto dtype = ToDType(host.scalar_type());
  GANDEM_CHECK(dtype.has_value() && host.is_cpu() && host.is_contiguous());
  auto owner = std::make_shared<const at::Tensor>(host.detach());
  const auto* const data =
      static_cast<const std::byte*>(owner->const_data_ptr());
  const auto size = static_cast<size_t>(owner->nbytes());
  return {.name = std::move(name),
          .dtype = *dtype,
          .shape = host.sizes().vec(),
          .bytes = SharedBytes(std::move(owner), {data, size})};
}

std::optional<at::ScalarType> FloatingTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return at::kFloat;
    case DType::kF64:
      return at::kDouble;
    case DType::kF16:
      return at::kHalf;
    case DType::kBF16:
      return at::kBFloat16;
    default:
      return std::nullopt;
  }
}

std::optional<at::Tensor> FloatValuesOf(const NamedTensor& tensor) {
  const std::optional<at::ScalarType> type = FloatingTypeOf(tensor.dtype);
  if (!type.has_value()) return std::nullopt;
  // from_blob takes a mutable pointer; to() copies.
  return torch::from_blob(const_cast<std::byte*>(tensor.bytes.data()),
                          tensor.shape, *type)
      .to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

bool IsFinite(const at::Tensor& values) {
  if (!values.is_floating_point() || values.numel() == 0) return true;
  // Minimum and maximum cannot overflow, and both are NaN if any value is.
  const auto [smallest, largest] = at::aminmax(values.detach());
  return std::isfinite(smallest.item<double>()) &&
         std::isfinite(largest.item<double>());
}

TensorReader::TensorReader(std::vector<NamedTensor> tensors) {
  for (NamedTensor& tensor : tensors) {
    std::string name = tensor.name;
    by_name_.emplace(std::move(name), std::move(tensor));
  }
}

absl::Status TensorReader::Load(const std::string& prefix,
                                const TensorsByName& into) const {
  torch::NoGradGuard no_grad;
  std::vector<std::string> faults;
  std::vector<std::pair<const NamedTensor*, at::Tensor>> plan;
  for (const auto& [name, tensor] : into) {
    const auto found = by_name_.find(prefix + name);
    if (found == by_name_.end()) {
      faults.push_back(absl::StrCat(prefix, name, " is missing"));
    } else if (found->second.shape != tensor.sizes().vec() ||
               (found->second.dtype != ToDType(tensor.scalar_type()) &&
                !IsNumber(found->second))) {
      faults.push_back(absl::StrCat(
          prefix, name, " has shape [",
          absl::StrJoin(found->second.shape, ", "), "], the network wants [",
          absl::StrJoin(tensor.sizes().vec(), ", "), "] of type ",
          c10::toString(tensor.scalar_type())));
    } else {
      plan.emplace_back(&found->second, tensor);
    }
  }
  if (!faults.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensors do not fit: ", absl::StrJoin(faults, "; ")));
  }
  for (auto& [source, tensor] : plan) {
    tensor.copy_(torch::from_blob(
        const_cast<std::byte*>(source->bytes.data()), tensor.sizes(),
        torch::TensorOptions().dtype(ToTorch(source->dtype))));
  }
  return absl::OkStatus();
}

std::vector<NamedTensor> TensorReader::WithPrefix(
    const std::string& prefix) const {
  std::vector<NamedTensor> found;
  for (auto it = by_name_.lower_bound(prefix);
       it != by_name_.end() && it->first.compare(0, prefix.size(), prefix) == 0;
       ++it) {
    NamedTensor tensor = it->second;
    tensor.name = it->first.substr(prefix.size());
    found.push_back(std::move(tensor));
  }
  return found;
}

}  // namespace gandem
