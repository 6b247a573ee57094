// SPDX-License-Identifier: Apache-2.0
#include "tests/models/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "common/checkpoint/safetensors.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {
namespace {

at::ScalarType ToTorch(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return at::kDouble;
    case DType::kI64:
      return at::kLong;
    case DType::kU8:
      return at::kByte;
    default:
      EXPECT_EQ(dtype, DType::kF32) << "no golden has another type";
      return at::kFloat;
  }
}

}  // namespace

Golden::Golden(const std::string& file) {
  const char* source_dir = std::getenv("GANDEM_SOURCE_DIR");
  const std::string path =
      std::string(source_dir == nullptr ? "." : source_dir) +
      "/tests/goldens/" + file;
  const auto tensors = ReadSafetensors(path);
  EXPECT_OK(tensors);
  if (!tensors.ok()) return;
  for (const NamedTensor& tensor : *tensors) {
    // from_blob wants a mutable pointer; clone only reads it.
    tensors_[tensor.name] =
        torch::from_blob(const_cast<std::byte*>(tensor.bytes.data()),
                         tensor.shape, ToTorch(tensor.dtype))
            .clone();
  }
}

at::Tensor Golden::Get(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    ADD_FAILURE() << "the golden has no tensor " << name;
    return {};
  }
  return found->second;
}

std::set<std::string> Golden::NamesWithPrefix(const std::string& prefix) const {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors_) {
    if (name.starts_with(prefix)) names.insert(name);
  }
  return names;
}

void Golden::LoadNetwork(const std::string& prefix,
                         torch::nn::Module& network) const {
  const torch::NoGradGuard no_grad;
  for (auto& item : network.named_parameters()) {
    item.value().copy_(Get(prefix + item.key()));
  }
  for (auto& item : network.named_buffers()) {
    // The oracles have no masks.
    if (item.key().ends_with("_key")) continue;
    item.value().copy_(Get(prefix + item.key()));
  }
}

double RelativeError(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.sizes() != expected.sizes()) {
    return std::numeric_limits<double>::infinity();
  }
  const at::Tensor want = expected.detach().to(at::kDouble);
  const at::Tensor difference = actual.detach().to(at::kDouble) - want;
  return (difference.norm() / want.norm().clamp_min(1e-300)).item<double>();
}

}  // namespace gandem::testing
