// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/transfer_fit.h"

#include <gtest/gtest.h>

#include <vector>

namespace gandem {
namespace {

std::vector<TransferSample> OnALine(double latency, double rate,
                                    double compute_per_byte) {
  std::vector<TransferSample> samples;
  for (const double bytes : {4e3, 6e4, 1e6, 1.6e7}) {
    samples.push_back({.bytes = bytes,
                       .seconds = latency + bytes / rate,
                       .compute_seconds = 1e-5 + bytes * compute_per_byte});
  }
  return samples;
}

TEST(TransferFitTest, ALineIsFitted) {
  const TransferProfile fit = FitTransfers(TransferProfile::EXCHANGE_SOCKET,
                                           OnALine(2e-4, 1.5e9, 1e-9), 2);
  EXPECT_EQ(fit.kind(), TransferProfile::EXCHANGE_SOCKET);
  EXPECT_NEAR(fit.latency_seconds(), 1e-4, 1e-9);
  EXPECT_NEAR(fit.bytes_per_second() / 1.5e9, 1, 1e-6);
  EXPECT_NEAR(fit.compute_seconds_per_byte() / 1e-9, 1, 1e-6);
}

// Small transfers have the same weight as large ones: an extra millisecond in
// the largest must not change the latency.
TEST(TransferFitTest, DeviationsAreRelative) {
  std::vector<TransferSample> samples = OnALine(1e-4, 1e9, 0);
  samples.back().seconds *= 1.1;
  const TransferProfile fit =
      FitTransfers(TransferProfile::COLLECTIVE_MEMORY, samples, 1);
  EXPECT_NEAR(fit.latency_seconds() / 1e-4, 1, 0.1);
  EXPECT_NEAR(fit.bytes_per_second() / 1e9, 1, 0.1);
}

TEST(TransferFitTest, ResultsAreNonnegativeAndFinite) {
  const std::vector<TransferSample> faster = {{.bytes = 1e3, .seconds = 1e-3},
                                              {.bytes = 1e6, .seconds = 1e-4}};
  const TransferProfile fit =
      FitTransfers(TransferProfile::EXCHANGE_SOCKET, faster, 1);
  EXPECT_GE(fit.latency_seconds(), 0);
  EXPECT_GT(fit.bytes_per_second(), 0);
  EXPECT_LE(fit.bytes_per_second(), 1e13);
  EXPECT_GE(fit.compute_seconds_per_byte(), 0);
  const std::vector<TransferSample> no_latency = {
      {.bytes = 1e3, .seconds = 1e-7}, {.bytes = 1e6, .seconds = 1e-3}};
  EXPECT_EQ(FitTransfers(TransferProfile::EXCHANGE_SOCKET, no_latency, 1)
                .latency_seconds(),
            0);
}

}  // namespace
}  // namespace gandem
