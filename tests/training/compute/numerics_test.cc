// SPDX-License-Identifier: Apache-2.0
#include "common/control/numerics.h"

#include <ATen/Version.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

// gandem determines the capability without LibTorch.
TEST(TorchNumericsTest, TheCpuCapabilityEqualsLibTorchs) {
  EXPECT_EQ(ProcessNumerics()["CPU capability"], at::get_cpu_capability());
}

}  // namespace
}  // namespace gandem
