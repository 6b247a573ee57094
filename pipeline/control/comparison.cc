// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/comparison.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "pipeline/control/baselines.h"
#include "pipeline/control/offline_optimum.h"

namespace gandem {
namespace {

constexpr int kMaxFetches = 64;
constexpr int kFetches[] = {4, 16, 64};
constexpr int kMemoryParts[] = {16, 4, 1};
// Batches that are decoded where decoding is late.
constexpr int64_t kLateBatches = 4;

std::string NameOf(const PipelineSetting& setting) {
  return absl::StrCat(
      "static: ", setting.fetches, " fetches, ", setting.workers, " workers, ",
      setting.ahead, " ahead",
      setting.finished_ahead < setting.ahead
          ? absl::StrCat(", ", setting.finished_ahead, " decoded")
          : "");
}

ComparedRun RunOf(const PipelineTrace& trace, const PipelineSetting& setting) {
  return {.name = NameOf(setting), .run = SimulateStatic(trace, setting)};
}

PipelineSetting SettingOf(const PipelineLimits& limits, int fetches,
                          int workers, int64_t ahead, bool late) {
  const int64_t finished = late ? kLateBatches * limits.least_ahead : ahead;
  return {.fetches = fetches,
          .workers = workers,
          .ahead = ahead,
          .finished_ahead = std::min(ahead, finished)};
}

// The deepest that takes no more than `bytes` on average.
ComparedRun DeepestOf(const PipelineTrace& trace, const PipelineLimits& limits,
                      int fetches, int workers, bool late, double bytes) {
  int64_t low = limits.least_ahead;
  int64_t high =
      std::max(low + 1, limits.memory_bytes / std::min(trace.job.stored_bytes,
                                                       trace.job.sample_bytes));
  ComparedRun best =
      RunOf(trace, SettingOf(limits, fetches, workers, low, late));
  while (high - low > std::max<int64_t>(1, low / 8)) {
    const int64_t middle = low + (high - low) / 2;
    ComparedRun run =
        RunOf(trace, SettingOf(limits, fetches, workers, middle, late));
    if (run.run.average_bytes > bytes) {
      high = middle;
    } else {
      low = middle;
      best = std::move(run);
    }
  }
  return best;
}

ComparedRun BestStatic(const PipelineTrace& trace, const PipelineLimits& limits,
                       bool late, double bytes) {
  ComparedRun best;
  for (const int fetches : kFetches) {
    ComparedRun run =
        DeepestOf(trace, limits, fetches, limits.max_workers, late, bytes);
    if (best.name.empty() || run.run.LostShare() < best.run.LostShare()) {
      best = std::move(run);
    }
  }
  return best;
}

void AddOthers(const PipelineTrace& trace, const PipelineLimits& limits,
               std::vector<ComparedRun>& others) {
  const int64_t most = limits.memory_bytes /
                       std::max(trace.job.sample_bytes, trace.job.stored_bytes);
  for (const int fetches : kFetches) {
    for (const int part : kMemoryParts) {
      const int64_t ahead = std::max(limits.least_ahead, most / part);
      others.push_back(
          RunOf(trace, SettingOf(limits, fetches, limits.max_workers, ahead,
                                 /*late=*/false)));
    }
  }
  const PipelineBaseline climb = HillClimb(limits);
  others.push_back({.name = "hill climb (as tf.data)",
                    .run = Simulate(trace, climb.first, climb.rule)});
  const PipelineBaseline on_time = OnTimeRule(limits);
  others.push_back({.name = "on-time rule (as xet-core)",
                    .run = Simulate(trace, on_time.first, on_time.rule)});
}

}  // namespace

PipelineLimits LimitsOf(const PipelineJob& job, int64_t memory_bytes) {
  return {.memory_bytes = memory_bytes,
          .max_fetches = kMaxFetches,
          .max_workers = static_cast<int>(
              std::max<int64_t>(1, job.cores - job.trainer_cores)),
          .least_ahead = job.batch,
          .sample_bytes = job.sample_bytes,
          .decodes_late = true};
}

PipelineComparison ComparePipelines(const PipelineTrace& trace,
                                    int64_t memory_bytes) {
  const PipelineLimits limits = LimitsOf(trace.job, memory_bytes);
  PipelineComparison comparison;
  PipelineController controller(limits);
  comparison.controller =
      Simulate(trace, controller.setting(), [&](const PipelineSeen& seen) {
        const PipelineSetting setting = controller.Update(seen);
        const std::string warning = controller.TakeWarning();
        if (!warning.empty()) comparison.warning = warning;
        return setting;
      });
  AddOthers(trace, limits, comparison.others);
  const double bytes = comparison.controller.average_bytes;
  comparison.best_static = BestStatic(trace, limits, /*late=*/false, bytes);
  comparison.best_late_static = BestStatic(trace, limits, /*late=*/true, bytes);
  comparison.least_stall = LeastStall(trace, memory_bytes, limits.max_workers,
                                      comparison.controller.first_batch_at);
  return comparison;
}

}  // namespace gandem
