// SPDX-License-Identifier: Apache-2.0
#include "training/compute/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ParseDeviceTest, DevicesAreParsed) {
  ASSERT_OK_AND_ASSIGN(at::Device device, ParseDevice(""));
  EXPECT_TRUE(device.is_cpu());
  ASSERT_OK_AND_ASSIGN(device, ParseDevice("cpu"));
  EXPECT_TRUE(device.is_cpu());
  for (const char* text : {"tpu", "cuda:x", "meta", "mps"}) {
    EXPECT_THAT(ParseDevice(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("expected cpu or cuda:N")))
        << text;
  }
}

TEST(ParseDeviceTest, AMissingGpuIsRefused) {
  EXPECT_THAT(ParseDevice("cuda:99").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("device cuda:99: this machine")));
}

}  // namespace
}  // namespace gandem
