// SPDX-License-Identifier: Apache-2.0
#include "training/state/device_sum.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/torch.h"

namespace gandem {
namespace {

at::Tensor Number(double value) { return torch::full({}, value, at::kFloat); }

// The sum is a double, in which 1e17 absorbs smaller numbers added earlier.
TEST(DeviceSumTest, NumbersAreAddedInOrder) {
  DeviceSum sum(0.25);
  sum.Add(Number(0.5));
  sum.Add(DeviceSum(7.0));
  sum.Add(Number(1e17));
  sum.Add(Number(-1e17));
  EXPECT_EQ(sum.Value(), 0.0);
  sum.Add(Number(3));
  EXPECT_EQ(sum.Value(), 3.0);
}

TEST(DeviceSumTest, TheSumStartsAtZeroAndAfterAReset) {
  DeviceSum sum;
  EXPECT_EQ(sum.Value(), 0.0);
  sum.Add(Number(2));
  sum = {};
  EXPECT_EQ(sum.Value(), 0.0);
}

TEST(DeviceSumTest, NumbersAreReadWhenTheSumIsRequested) {
  const at::Tensor number = Number(2);
  const DeviceSum sum(number);
  number.fill_(5);  // like a device that has not executed the addition yet
  EXPECT_EQ(sum.Value(), 5.0);
  number.fill_(7);
  EXPECT_EQ(sum.Value(), 5.0);
}

TEST(DeviceSumTest, ScalingAppliesToReadAndUnreadNumbers) {
  DeviceSum sum(Number(2));
  EXPECT_EQ(sum.Value(), 2.0);
  sum.Add(Number(1));
  sum.Scale(3);
  sum.Add(Number(1));
  EXPECT_EQ(sum.Value(), 10.0);
}

TEST(DeviceSumTest, NumbersMayHaveAGraph) {
  const at::Tensor leaf = Number(2).set_requires_grad(true);
  EXPECT_EQ(DeviceSum(leaf * 3).Value(), 6.0);
}

TEST(DeviceSumTest, NonFiniteNumbersAreVisible) {
  DeviceSum sum(Number(1));
  sum.Add(Number(NAN));
  EXPECT_TRUE(std::isnan(sum.Value()));
}

}  // namespace
}  // namespace gandem
