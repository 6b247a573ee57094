// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/data_meter.h"

#include <algorithm>
#include <utility>

#include "pipeline/io_counters.h"

namespace gandem {

DataMeter::DataMeter(std::vector<std::shared_ptr<Prefetcher>> prefetchers,
                     int free_cores)
    : prefetchers_(std::move(prefetchers)),
      free_cores_(free_cores),
      last_(Now()) {}

DataMeter::Totals DataMeter::Now() {
  const IoCounters& io = ProcessIoCounters();
  return {.bytes = io.bytes,
          .requests = io.requests,
          .retries = io.retries,
          .decode_ns = io.decode_ns,
          .transform_ns = io.transform_ns};
}

DataMetrics DataMeter::Take() {
  DataMetrics data;
  data.set_free_cores(free_cores_);
  double finish_stall = 0;
  for (const auto& prefetcher : prefetchers_) {
    const FeedStats stats = prefetcher->TakeStats();
    data.set_seconds(std::max(data.seconds(), stats.seconds));
    data.set_images(data.images() + stats.finished);
    data.set_processor_seconds(data.processor_seconds() + stats.work_seconds);
    data.set_fetch_stall_seconds(data.fetch_stall_seconds() +
                                 stats.fetch_stall_seconds);
    finish_stall += stats.finish_stall_seconds;
    data.set_stored_bytes(data.stored_bytes() + stats.stored_bytes);
    data.set_waiting_images(data.waiting_images() + stats.waiting);
    data.set_fetches(data.fetches() + stats.setting.fetches);
    data.set_workers(data.workers() + stats.setting.workers);
    data.set_images_ahead(data.images_ahead() + stats.setting.ahead);
  }
  const Totals now = Now();
  const auto decode = static_cast<double>(now.decode_ns - last_.decode_ns);
  const auto transform =
      static_cast<double>(now.transform_ns - last_.transform_ns);
  // Both stages run on the same threads, so waits are divided in proportion.
  // Images in memory are not decoded.
  const double decode_share =
      decode + transform > 0 ? decode / (decode + transform) : 0;
  data.set_decode_stall_seconds(decode_share * finish_stall);
  data.set_transform_stall_seconds((1 - decode_share) * finish_stall);
  data.set_remote_bytes(now.bytes - last_.bytes);
  data.set_requests(now.requests - last_.requests);
  data.set_retries(now.retries - last_.retries);
  last_ = now;
  return data;
}

}  // namespace gandem
