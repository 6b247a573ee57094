// SPDX-License-Identifier: Apache-2.0
//
// Tests of NCCL. Without a GPU: the error. With a GPU: a communicator of one
// rank, because NCCL refuses two ranks on one device.
#include "collective/nccl_collective.h"

#include <gtest/gtest.h>

#ifdef GANDEM_NCCL
#include <cuda_runtime_api.h>
#endif

#include <span>
#include <vector>

#include "absl/time/clock.h"
#include "tests/testing/in_process_fleet.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Runs on every machine: NCCL has no fake.
TEST(NcclCollectiveTest, WithoutAGpuTheErrorSaysSo) {
  const auto bootstrap = MakeInProcessFleet(1, {});
  const auto nccl = CreateNccl({.device = 1000}, bootstrap[0].get(),
                               absl::Now() + absl::Seconds(30));
  EXPECT_THAT(nccl, StatusIs(absl::StatusCode::kFailedPrecondition,
                             AnyOf(HasSubstr("built without NCCL"),
                                   HasSubstr("no usable GPU"),
                                   HasSubstr("device 1000 is not in [0,"))));
}

#ifdef GANDEM_NCCL
class NcclGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
      GTEST_SKIP() << "no GPU";
    }
    const auto bootstrap = MakeInProcessFleet(1, {});
    ASSERT_OK_AND_ASSIGN(nccl_, CreateNccl({}, bootstrap[0].get(),
                                           absl::Now() + absl::Minutes(1)));
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
    memory_ = static_cast<std::byte*>(memory);
  }
  void TearDown() override {
    nccl_.reset();
    if (memory_ != nullptr) cudaFree(memory_);
  }

  absl::Status Wait(Collective::Ticket ticket) {
    return nccl_->Wait(ticket, absl::Now() + absl::Seconds(30));
  }

  static constexpr size_t kBytes = 4096;
  std::unique_ptr<Collective> nccl_;
  std::byte* memory_ = nullptr;
};

TEST_F(NcclGpuTest, OneRankKeepsItsValues) {
  std::vector<float> values(kBytes / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.5f * i;
  ASSERT_EQ(cudaMemcpy(memory_, values.data(), kBytes, cudaMemcpyHostToDevice),
            cudaSuccess);
  const std::span<std::byte> buffer(memory_, kBytes);
  for (const ElementType type :
       {ElementType::kFloat32, ElementType::kFloat64, ElementType::kBfloat16,
        ElementType::kFloat16}) {
    EXPECT_OK(Wait(nccl_->AllReduce(buffer, type)));
  }
  nccl_->Broadcast(buffer, 0);
  nccl_->AllGather(buffer);
  EXPECT_OK(Wait(nccl_->Barrier()));
  std::vector<float> result(values.size());
  ASSERT_EQ(cudaMemcpy(result.data(), memory_, kBytes, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(result, values);
}

TEST_F(NcclGpuTest, CloseAbortsTheCommunicator) {
  const auto done = nccl_->Barrier();
  EXPECT_OK(Wait(done));
  nccl_->Close(absl::CancelledError("SIGTERM"));
  EXPECT_OK(Wait(done));
  EXPECT_THAT(Wait(nccl_->Barrier()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("SIGTERM")));
}

#endif

}  // namespace
}  // namespace gandem::testing
