// SPDX-License-Identifier: Apache-2.0
#include "training/state/device_sum.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/torch.h"

namespace gandem {
namespace {

class DeviceSumTest : public ::testing::TestWithParam<at::DeviceType> {
 protected:
  void SetUp() override {
    if (GetParam() == at::kCUDA && !torch::cuda::is_available()) {
      GTEST_SKIP() << "no GPU";
    }
  }

  at::Tensor Number(double value) const {
    return torch::full({}, value, torch::device(GetParam()).dtype(at::kFloat));
  }
};

TEST_P(DeviceSumTest, AddsInTheOrderInWhichNumbersCame) {
  // In double: 1e17 would swallow what is added to it later.
  DeviceSum sum(0.25);
  sum.Add(Number(0.5));
  sum.Add(DeviceSum(7.0));
  sum.Add(Number(1e17));
  sum.Add(Number(-1e17));
  EXPECT_EQ(sum.Value(), 0.0);
  sum.Add(Number(3));
  EXPECT_EQ(sum.Value(), 3.0);
}

TEST_P(DeviceSumTest, StartsAtZeroAndAgain) {
  DeviceSum sum;
  EXPECT_EQ(sum.Value(), 0.0);
  sum.Add(Number(2));
  sum = {};
  EXPECT_EQ(sum.Value(), 0.0);
}

// What happens to a tensor later is not what was added.
TEST_P(DeviceSumTest, KeepsTheNumberAndNoGraph) {
  const at::Tensor leaf = Number(2).set_requires_grad(true);
  at::Tensor number = leaf * 3;
  DeviceSum sum(number);
  number.detach().fill_(100);
  EXPECT_EQ(sum.Value(), 6.0);
}

TEST_P(DeviceSumTest, ShowsWhatIsNotFinite) {
  DeviceSum sum(Number(1));
  sum.Add(Number(NAN));
  EXPECT_TRUE(std::isnan(sum.Value()));
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceSumTest,
                         ::testing::Values(at::kCPU, at::kCUDA),
                         [](const auto& info) {
                           return info.param == at::kCPU ? "Cpu" : "Cuda";
                         });

}  // namespace
}  // namespace gandem
