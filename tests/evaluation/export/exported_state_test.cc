// SPDX-License-Identifier: Apache-2.0
#include "evaluation/export/exported_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr DataShape kSmallData = {{3, 32, 32}, 3};

std::shared_ptr<Generator> SmallSagan() {
  NetworkConfig config;
  config.mutable_sagan()->set_width(4);
  config.mutable_sagan()->set_noise_dim(6);
  std::shared_ptr<Generator> network = *MakeGenerator(config, kSmallData);
  InitializeParameters(*network, config, /*seed=*/3);
  return network;
}

std::set<std::string> NamesOf(const std::vector<NamedTensor>& tensors) {
  std::set<std::string> names;
  for (const NamedTensor& tensor : tensors) names.insert(tensor.name);
  return names;
}

TEST(ExportStateTest, NamesAreThoseOfPyTorchsSpectralNorm) {
  const auto network = SmallSagan();
  const std::set<std::string> names = NamesOf(ExportState(*network));
  EXPECT_THAT(names, Contains("linear.weight_orig"));
  EXPECT_THAT(names, Contains("linear.weight_u"));
  EXPECT_THAT(names, Contains("linear.weight_v"));
  EXPECT_THAT(names, Contains("linear.bias"));
  EXPECT_THAT(names, Not(Contains("linear.weight")));
  // Batch norm has no spectral norm.
  EXPECT_THAT(names, Contains("norm.weight"));
  EXPECT_EQ(names.size(), StateOf(*network).size());
}

// PyTorch evaluates with the vectors as they are; gandem iterates them once.
TEST(ExportStateTest, VectorsAreThoseOfOneMoreIteration) {
  const auto network = SmallSagan();
  const torch::NoGradGuard no_grad;
  const auto parameters = network->named_parameters();
  const at::Tensor& weight = *parameters.find("linear.weight");
  const auto buffers = network->named_buffers();
  const at::Tensor& u = *buffers.find("linear.weight_u");
  u.normal_();  // far from convergence
  u.div_(u.norm());
  at::Tensor v = at::mv(weight.t(), u);
  v = v / v.norm();
  at::Tensor expected_u = at::mv(weight, v);
  expected_u = expected_u / expected_u.norm();
  ASSERT_FALSE(at::allclose(u, expected_u, 0, 1e-3));
  ExportState(*network);
  EXPECT_TRUE(at::allclose(u, expected_u, 0, 1e-6));
  EXPECT_TRUE(at::allclose(*buffers.find("linear.weight_v"), v, 0, 1e-6));
}

TEST(ExportStateTest, HasNoKeysOfDropout) {
  NetworkConfig config;
  config.mutable_pix2pix()->set_width(2);
  std::shared_ptr<Generator> network = *MakeGenerator(config, {{3, 64, 64}, 0});
  EXPECT_THAT(NamesOf(ExportState(*network)), Each(Not(HasSubstr("mask_key"))));
}

}  // namespace
}  // namespace gandem
