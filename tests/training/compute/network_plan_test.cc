// SPDX-License-Identifier: Apache-2.0
#include "training/compute/network_plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::HasSubstr;

NetworkPlan On(const std::string& device, Role role) {
  return {.role = role, .device = device};
}

TEST(NetworkPlanTest, CudaSelectsAGpuForEachWorkerOfAHost) {
  std::set<std::string> used;
  for (int position = 0; position < 2; ++position) {
    for (const Role role : {GENERATOR, DISCRIMINATOR}) {
      used.insert(DeviceOf(On("cuda", role), position, /*num_gpus=*/4));
    }
  }
  EXPECT_EQ(used,
            (std::set<std::string>{"cuda:0", "cuda:1", "cuda:2", "cuda:3"}));
  EXPECT_EQ(DeviceOf(On("cuda", GENERATOR), 1, 4), "cuda:1");
  EXPECT_EQ(DeviceOf(On("cuda", DISCRIMINATOR), 1, 4), "cuda:2");
  EXPECT_EQ(DeviceOf(On("cuda", GENERATOR), 3, 2), "cuda:1");
  EXPECT_EQ(DeviceOf(On("cuda", DISCRIMINATOR), 3, 2), "cuda:0");
  EXPECT_EQ(DeviceOf(On("cuda", DISCRIMINATOR), 0, 1), "cuda:0");
}

TEST(NetworkPlanTest, OtherDevicesAreUnchanged) {
  for (const char* device : {"cpu", "cuda:0", "cuda:7"}) {
    for (const Role role : {GENERATOR, DISCRIMINATOR}) {
      EXPECT_EQ(DeviceOf(On(device, role), 3, 8), device);
    }
  }
}

TEST(NetworkPlanTest, CudaWithoutAGpuIsAMissingDevice) {
  EXPECT_EQ(DeviceOf(On("cuda", GENERATOR), 2, 0), "cuda:0");
  const NetworkPlan beyond = On("cuda:100", GENERATOR);
  ComputeChoice choice;
  choice.set_layout(NCHW);
  EXPECT_THAT(
      ComputeFrom(beyond, choice),
      gandem::testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("\"cuda:100\" is not there")));
}

}  // namespace
}  // namespace gandem
