// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/host_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kGiB = int64_t{1} << 30;

// Two hosts: alpha has both discriminators.
Candidate PlanOf(int64_t generator_bytes, int64_t discriminator_bytes) {
  Candidate plan;
  plan.mutable_prediction()->set_generator_bytes(generator_bytes);
  plan.mutable_prediction()->set_discriminator_bytes(discriminator_bytes);
  for (const auto& [role, host] :
       {std::pair(DISCRIMINATOR, "alpha"), std::pair(DISCRIMINATOR, "alpha"),
        std::pair(GENERATOR, "beta")}) {
    PlacedWorker* const worker = plan.mutable_placement()->add_workers();
    worker->set_role(role);
    worker->set_host(host);
  }
  return plan;
}

TEST(HostChecksTest, AHostWithTooLittleMemoryForItsWorkers) {
  const Candidate plan = PlanOf(5 * kGiB, 3 * kGiB);
  EXPECT_THAT(FindingLine(CheckMemory(&plan, 6 * kGiB - 1)),
              AllOf(StartsWith("FAULT"), HasSubstr("needs 6.00 GiB"),
                    HasSubstr("--memory")));
  EXPECT_THAT(FindingLine(CheckMemory(&plan, 6 * kGiB)), StartsWith("ok "));
  EXPECT_THAT(FindingLine(CheckMemory(nullptr, kGiB)),
              AllOf(StartsWith("ok "), HasSubstr("no plan says")));
  // The plan predicts the GPU's memory for a worker on a GPU.
  Candidate on_gpus = plan;
  on_gpus.mutable_config()->mutable_discriminator()->set_device("cuda");
  EXPECT_THAT(FindingLine(CheckMemory(&on_gpus, 5 * kGiB)), StartsWith("ok "));
  EXPECT_THAT(FindingLine(CheckMemory(&on_gpus, 5 * kGiB - 1)),
              StartsWith("FAULT"));
}

TEST(HostChecksTest, FewDescriptorsAreAWarning) {
  EXPECT_THAT(FindingLine(CheckDescriptors(1024)),
              AllOf(StartsWith("warning"), HasSubstr("ulimit -Hn")));
  EXPECT_THAT(FindingLine(CheckDescriptors(1 << 20)), StartsWith("ok "));
}

}  // namespace
}  // namespace gandem
