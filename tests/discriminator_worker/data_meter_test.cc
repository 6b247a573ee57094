// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/data_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "pipeline/io_counters.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

class BlackDataset : public Dataset {
 public:
  int64_t size() const override { return 10; }
  ImageShape shape() const override {
    return {.channels = 1, .height = 2, .width = 2};
  }
  absl::StatusOr<int64_t> Finish(int64_t /*index*/,
                                 const StoredView& /*stored*/,
                                 std::optional<SampleKey> /*key*/,
                                 std::span<float> out) const override {
    std::fill(out.begin(), out.end(), -1.0f);
    return kNoLabel;
  }
  absl::StatusOr<std::string> ContentHash() const override { return "black"; }
};

TEST(DataMeterTest, ReportsTheReadsSinceTheLastRound) {
  std::shared_ptr<Prefetcher> prefetcher = *Prefetcher::Create(
      std::make_shared<BlackDataset>(), {.seed = 1, .batch_size = 4});
  DataMeter meter({prefetcher, prefetcher}, /*free_cores=*/3);
  ASSERT_OK(prefetcher->Next(Soon()));
  ProcessIoCounters().bytes += 1000;
  ProcessIoCounters().requests += 5;
  ProcessIoCounters().retries += 2;
  const DataMetrics data = meter.Take();
  EXPECT_GT(data.seconds(), 0);
  EXPECT_GE(data.images(), 4);
  EXPECT_GT(data.processor_seconds(), 0);
  EXPECT_EQ(data.free_cores(), 3);
  EXPECT_EQ(data.stored_bytes(), 0);
  EXPECT_EQ(data.fetches(), 0);
  EXPECT_EQ(data.workers(), 2);
  EXPECT_EQ(data.images_ahead(), 2 * 4 * 4);
  EXPECT_EQ(data.remote_bytes(), 1000);
  EXPECT_EQ(data.requests(), 5);
  EXPECT_EQ(data.retries(), 2);
  EXPECT_EQ(meter.Take().remote_bytes(), 0);
}

}  // namespace
}  // namespace gandem
