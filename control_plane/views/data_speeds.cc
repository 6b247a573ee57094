// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/data_speeds.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gandem {
namespace {

// Each round takes this much off the weight of those before it.
constexpr double kDataDecay = 0.92;

}  // namespace

void DataSpeeds::Add(const RoundMetrics& metrics) {
  if (metrics.role() != DISCRIMINATOR || !metrics.has_data() ||
      metrics.run_epoch() < run_epoch_) {
    return;
  }
  if (metrics.run_epoch() > run_epoch_) workers_.clear();
  run_epoch_ = metrics.run_epoch();
  const DataMetrics& data = metrics.data();
  Recent& recent = workers_[metrics.rank()];
  const auto add = [](double& sum, double value) {
    sum = kDataDecay * sum + value;
  };
  recent.times *= kDataDecay;
  recent.times += TimesOf(metrics);
  add(recent.seconds, data.seconds());
  add(recent.images, static_cast<double>(data.images()));
  add(recent.stored_bytes, static_cast<double>(data.stored_bytes()));
  recent.retries += data.retries();
  recent.newest = data;
}

// Speeds and settings add up; shares of time are over all workers together.
void DataSpeeds::Complete(StatusReply& status) const {
  if (workers_.empty()) return;
  DataStatus& data = *status.mutable_data();
  data.Clear();
  RoundTimes times;
  for (const auto& [rank, recent] : workers_) {
    times += recent.times;
    if (recent.seconds > 0) {
      data.set_images_per_second(data.images_per_second() +
                                 recent.images / recent.seconds);
      data.set_stored_bytes_per_second(data.stored_bytes_per_second() +
                                       recent.stored_bytes / recent.seconds);
    }
    data.set_waiting_images(data.waiting_images() +
                            recent.newest.waiting_images());
    data.set_images_ahead(data.images_ahead() + recent.newest.images_ahead());
    data.set_fetches(data.fetches() + recent.newest.fetches());
    data.set_workers(data.workers() + recent.newest.workers());
    data.set_retries(data.retries() + recent.retries);
  }
  if (times.round > 0) data.set_wait_share(times.data / times.round);
  data.set_stage(times.data_stage());
}

std::string DataWaitText(const DataStatus& data) {
  return absl::StrFormat("waits for data %.0f%%%s%s", 100 * data.wait_share(),
                         data.stage().empty() ? "" : ": ", data.stage());
}

std::string DataLine(const StatusReply& status) {
  if (!status.has_data()) return "";
  const DataStatus& data = status.data();
  std::string text = absl::StrFormat(
      "  real images: %.0f/s, %d of %d ahead, %d decode threads",
      data.images_per_second(), data.waiting_images(), data.images_ahead(),
      data.workers());
  if (data.fetches() > 0) {
    absl::StrAppendFormat(&text, ", %d fetches, %.1f MB/s", data.fetches(),
                          1e-6 * data.stored_bytes_per_second());
  }
  if (data.retries() > 0) {
    absl::StrAppend(&text, ", ", data.retries(), " retries");
  }
  return text + "\n";
}

}  // namespace gandem
