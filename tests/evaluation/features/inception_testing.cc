// SPDX-License-Identifier: Apache-2.0
#include "tests/evaluation/features/inception_testing.h"

#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "common/philox.h"
#include "models/torch.h"

namespace gandem::testing {
namespace {

constexpr uint64_t kSeed = 20151205;

using Shape = std::vector<int64_t>;
using Shapes = std::map<std::string, Shape>;

void AddConvolution(Shapes& shapes, const std::string& name, Shape weight) {
  for (const char* part :
       {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}) {
    shapes[name + "." + part] = {weight[0]};
  }
  shapes[name + ".bn.num_batches_tracked"] = {};
  shapes[name + ".conv.weight"] = std::move(weight);
}

// Shapes from the paper's tables and torchvision's names, block by block.
Shapes AllShapes() {
  Shapes shapes = {{"fc.weight", {1008, 2048}}, {"fc.bias", {1008}}};
  const auto add = [&shapes](const std::string& block, const char* name,
                             Shape weight) {
    AddConvolution(shapes, block + name, std::move(weight));
  };
  add("Conv2d_1a_3x3", "", {32, 3, 3, 3});
  add("Conv2d_2a_3x3", "", {32, 32, 3, 3});
  add("Conv2d_2b_3x3", "", {64, 32, 3, 3});
  add("Conv2d_3b_1x1", "", {80, 64, 1, 1});
  add("Conv2d_4a_3x3", "", {192, 80, 3, 3});
  const std::map<std::string, std::pair<int64_t, int64_t>> a_blocks = {
      {"Mixed_5b.", {192, 32}},
      {"Mixed_5c.", {256, 64}},
      {"Mixed_5d.", {288, 64}}};
  for (const auto& [block, in_and_pool] : a_blocks) {
    const auto& [in, pool] = in_and_pool;
    add(block, "branch1x1", {64, in, 1, 1});
    add(block, "branch5x5_1", {48, in, 1, 1});
    add(block, "branch5x5_2", {64, 48, 5, 5});
    add(block, "branch3x3dbl_1", {64, in, 1, 1});
    add(block, "branch3x3dbl_2", {96, 64, 3, 3});
    add(block, "branch3x3dbl_3", {96, 96, 3, 3});
    add(block, "branch_pool", {pool, in, 1, 1});
  }
  add("Mixed_6a.", "branch3x3", {384, 288, 3, 3});
  add("Mixed_6a.", "branch3x3dbl_1", {64, 288, 1, 1});
  add("Mixed_6a.", "branch3x3dbl_2", {96, 64, 3, 3});
  add("Mixed_6a.", "branch3x3dbl_3", {96, 96, 3, 3});
  const std::map<std::string, int64_t> c_blocks = {{"Mixed_6b.", 128},
                                                   {"Mixed_6c.", 160},
                                                   {"Mixed_6d.", 160},
                                                   {"Mixed_6e.", 192}};
  for (const auto& [block, mid] : c_blocks) {
    add(block, "branch1x1", {192, 768, 1, 1});
    add(block, "branch7x7_1", {mid, 768, 1, 1});
    add(block, "branch7x7_2", {mid, mid, 1, 7});
    add(block, "branch7x7_3", {192, mid, 7, 1});
    add(block, "branch7x7dbl_1", {mid, 768, 1, 1});
    add(block, "branch7x7dbl_2", {mid, mid, 7, 1});
    add(block, "branch7x7dbl_3", {mid, mid, 1, 7});
    add(block, "branch7x7dbl_4", {mid, mid, 7, 1});
    add(block, "branch7x7dbl_5", {192, mid, 1, 7});
    add(block, "branch_pool", {192, 768, 1, 1});
  }
  add("Mixed_7a.", "branch3x3_1", {192, 768, 1, 1});
  add("Mixed_7a.", "branch3x3_2", {320, 192, 3, 3});
  add("Mixed_7a.", "branch7x7x3_1", {192, 768, 1, 1});
  add("Mixed_7a.", "branch7x7x3_2", {192, 192, 1, 7});
  add("Mixed_7a.", "branch7x7x3_3", {192, 192, 7, 1});
  add("Mixed_7a.", "branch7x7x3_4", {192, 192, 3, 3});
  const std::map<std::string, int64_t> e_blocks = {{"Mixed_7b.", 1280},
                                                   {"Mixed_7c.", 2048}};
  for (const auto& [block, in] : e_blocks) {
    add(block, "branch1x1", {320, in, 1, 1});
    add(block, "branch3x3_1", {384, in, 1, 1});
    add(block, "branch3x3_2a", {384, 384, 1, 3});
    add(block, "branch3x3_2b", {384, 384, 3, 1});
    add(block, "branch3x3dbl_1", {448, in, 1, 1});
    add(block, "branch3x3dbl_2", {384, 448, 3, 3});
    add(block, "branch3x3dbl_3a", {384, 384, 1, 3});
    add(block, "branch3x3dbl_3b", {384, 384, 3, 1});
    add(block, "branch_pool", {192, in, 1, 1});
  }
  return shapes;
}

struct Bounds {
  double low;
  double high;
};

Bounds BoundsOf(const std::string& name, const Shape& shape) {
  if (absl::EndsWith(name, "running_var")) return {0.5, 1.5};
  if (absl::EndsWith(name, "bn.weight")) return {0.6, 1.25};
  if (shape.size() == 1) return {-0.25, 0.25};
  double fan_in = 1;
  for (size_t i = 1; i < shape.size(); ++i) {
    fan_in *= static_cast<double>(shape[i]);
  }
  const double bound = std::sqrt(6.0 / fan_in);
  return {-bound, bound};
}

}  // namespace

std::vector<NamedTensor> DrawInceptionWeights() {
  std::vector<NamedTensor> tensors;
  uint64_t place = 0;  // among the sorted names, as in the map
  for (const auto& [name, shape] : AllShapes()) {
    PhiloxStream stream(kSeed, Purpose::kInit, place++, 0);
    if (shape.empty()) {
      const int64_t zero = 0;
      tensors.push_back(
          {name, DType::kI64, shape,
           SharedBytes::Copy(std::as_bytes(std::span(&zero, 1)))});
      continue;
    }
    const auto [low, high] = BoundsOf(name, shape);
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
      value = static_cast<float>(
          low + (high - low) * (stream.NextUint32() / 4294967296.0));
    }
    tensors.push_back(
        {name, DType::kF32, shape,
         SharedBytes::Copy(std::as_bytes(std::span<const float>(values)))});
  }
  return tensors;
}

at::Tensor DrawImages(std::vector<int64_t> shape_NCHW, uint64_t place) {
  at::Tensor images_NCHW = torch::empty(shape_NCHW, torch::kByte);
  uint8_t* out = images_NCHW.mutable_data_ptr<uint8_t>();
  PhiloxStream stream(kSeed, Purpose::kInit, 1000 + place, 0);
  const int64_t height = shape_NCHW[2];
  const int64_t width = shape_NCHW[3];
  for (int64_t plane = 0; plane < shape_NCHW[0] * shape_NCHW[1]; ++plane) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        *out++ = static_cast<uint8_t>((stream.NextUint32() >> 25) +
                                      y * 64 / height + x * 64 / width);
      }
    }
  }
  return images_NCHW;
}

}  // namespace gandem::testing
