// SPDX-License-Identifier: Apache-2.0
//
// Read-ahead metrics of a round, of the prefetchers and readers.
//
// Owner: a discriminator role. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pipeline/feed/prefetcher.h"
#include "proto/metrics.pb.h"

namespace gandem {

class DataMeter {
 public:
  // `free_cores`: cores of the process without a training thread.
  DataMeter(std::vector<std::shared_ptr<Prefetcher>> prefetchers,
            int free_cores);
  DataMeter(const DataMeter&) = delete;
  DataMeter& operator=(const DataMeter&) = delete;

  DataMetrics Take();

 private:
  struct Totals {
    int64_t bytes = 0;
    int64_t requests = 0;
    int64_t retries = 0;
    int64_t decode_ns = 0;
    int64_t transform_ns = 0;
  };
  static Totals Now();

  const std::vector<std::shared_ptr<Prefetcher>> prefetchers_;
  const int free_cores_;
  Totals last_;
};

}  // namespace gandem
