// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/pipeline_rate.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/config/run_config.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "pipeline/dataset.h"
#include "pipeline/sources/open_dataset.h"

namespace gandem {
namespace {

constexpr int64_t kTimedImages = 256;

}  // namespace

absl::StatusOr<double> ImagesPerDecodeThreadSecond(const DataConfig& data,
                                                   absl::Duration limit) {
  GANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          HasPairs(data) ? OpenPairs(data) : OpenDataset(data));
  const absl::Time begin = MonotonicNow();
  // Spread over the whole dataset, because images that lie together may be
  // alike. Half of the time is for reading them.
  const int64_t count = std::min(kTimedImages, dataset->size());
  std::vector<std::pair<int64_t, StoredSample>> stored;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0 && MonotonicNow() - begin > limit / 2) break;
    const int64_t index = i * dataset->size() / count;
    GANDEM_ASSIGN_OR_RETURN(StoredSample sample, dataset->Fetch(index));
    stored.emplace_back(index, std::move(sample));
  }
  std::vector<float> pixels(dataset->shape().NumValues());
  const auto make_all = [&]() -> absl::Status {
    for (const auto& [index, sample] : stored) {
      GANDEM_RETURN_IF_ERROR(dataset->Finish(
          index, sample, SampleKey{.seed = 1, .number = index}, pixels));
    }
    return absl::OkStatus();
  };
  GANDEM_RETURN_IF_ERROR(make_all());
  const absl::Time warm = MonotonicNow();
  int64_t made = 0;
  do {
    GANDEM_RETURN_IF_ERROR(make_all());
    made += std::ssize(stored);
  } while (MonotonicNow() - begin < limit);
  return static_cast<double>(made) /
         absl::ToDoubleSeconds(MonotonicNow() - warm);
}

}  // namespace gandem
