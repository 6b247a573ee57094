// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/probe_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ProbeProgressTest, ABarOnATerminalOnly) {
  std::ostringstream out, bar, none;
  {
    ProbeProgress progress(absl::Minutes(5), out, bar, /*is_terminal=*/true);
    progress.Show(absl::Seconds(150), "generator, batch 64");
    progress.PrintLine("a line");
  }
  EXPECT_THAT(bar.str(), AllOf(HasSubstr("[################....."),
                               HasSubstr("2:30 of 5:00"),
                               HasSubstr("generator, batch 64")));
  EXPECT_EQ(out.str(), "a line\n");
  ProbeProgress(absl::Minutes(5), out, none, /*is_terminal=*/false)
      .Show(absl::Seconds(1), "x");
  EXPECT_THAT(none.str(), IsEmpty());
}

TEST(ProbeProgressTest, ALineSaysWhatWasMeasuredOrWhyNot) {
  Probe probe;
  probe.mutable_settings()->set_role(GENERATOR);
  probe.mutable_settings()->set_batch_size(64);
  probe.mutable_settings()->set_threads(2);
  probe.set_outcome(Probe::MEASURED);
  probe.mutable_round()->set_median_seconds(0.5);
  probe.mutable_round()->set_low_seconds(0.25);
  probe.mutable_round()->set_high_seconds(1);
  probe.mutable_round()->set_repetitions(7);
  probe.set_peak_bytes(int64_t{300} << 20);
  EXPECT_EQ(ProbeLine(probe),
            "generator, batch 64, 2 threads, FLOAT32, NCHW, SNAPSHOT: 0.5 s a "
            "round (0.25 to 1 of 7, not settled), 300 MiB");
  probe.mutable_device_memory()->set_peak_bytes(int64_t{500} << 20);
  EXPECT_THAT(ProbeLine(probe), EndsWith("not settled), 500 MiB"));
  probe.set_outcome(Probe::DIED);
  probe.set_message("it was killed by signal 9");
  EXPECT_EQ(ProbeLine(probe),
            "generator, batch 64, 2 threads, FLOAT32, NCHW, SNAPSHOT: DIED: it "
            "was killed by signal 9");
}

TEST(ProbeProgressTest, ATransfer) {
  TransferProfile transfer;
  transfer.set_kind(TransferProfile::EXCHANGE_SOCKET);
  transfer.set_latency_seconds(95e-6);
  transfer.set_bytes_per_second(1.4e9);
  EXPECT_EQ(TransferLine(transfer),
            "exchange over a socket: 95 us and 1.40 GB/s");
}

}  // namespace
}  // namespace gandem
