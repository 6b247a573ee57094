// SPDX-License-Identifier: Apache-2.0
//
// Links and trainers for tests of the controller, and the committed traces.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/control/comparison.h"
#include "pipeline/control/controller.h"
#include "pipeline/control/pipeline_trace.h"
#include "pipeline/control/simulator.h"

namespace gandem::testing {

inline constexpr int64_t kMemory = int64_t{256} << 20;

inline std::string TracePath(const std::string& name) {
  return absl::StrCat(std::getenv("GANDEM_SOURCE_DIR"),
                      "/tests/pipeline/control/traces/", name, ".trace");
}

// 640 samples of 10 kB a second.
inline PipelineTrace TraceOf(std::vector<LinkPart> link, double seconds) {
  return {.job = {.batch = 64,
                  .sample_bytes = 49152,
                  .stored_bytes = 10000,
                  .work_seconds = 0.001,
                  .cores = 4,
                  .trainer_cores = 2},
          .link = std::move(link),
          .demand = {{.at = 0, .batch_seconds = 0.1}},
          .seconds = seconds};
}

// 100 Mbit/s, 20 ms.
inline LinkPart GoodLink(double at = 0) {
  return {
      .at = at, .latency = 0.02, .spread = 0.005, .bytes_per_second = 12.5e6};
}

inline LinkPart WithRate(LinkPart part, double bytes_per_second) {
  part.bytes_per_second = bytes_per_second;
  return part;
}

inline LinkPart WithLatency(LinkPart part, double seconds) {
  part.latency = seconds;
  return part;
}

// A setting, and from when on it held.
struct SettingAt {
  double at = 0;
  PipelineSetting setting;
};

struct Controlled {
  SimulatedRun run;
  std::vector<SettingAt> settings;  // one for each tenth of a second
  std::string warning;
  std::string why;  // in the end

  const PipelineSetting& At(double seconds) const {
    const auto after =
        std::ranges::upper_bound(settings, seconds + 1e-6, {}, &SettingAt::at);
    return after == settings.begin() ? settings.front().setting
                                     : (after - 1)->setting;
  }
  int64_t ChangesIn(double from, double to) const {
    int64_t changes = 0;
    for (size_t i = 1; i < settings.size(); ++i) {
      if (settings[i].at < from || settings[i].at > to) continue;
      if (settings[i].setting != settings[i - 1].setting) ++changes;
    }
    return changes;
  }
};

inline Controlled Control(const PipelineTrace& trace,
                          const PipelineLimits& limits) {
  PipelineController controller(limits);
  Controlled result;
  result.settings = {{.at = 0, .setting = controller.setting()}};
  double now = 0;
  result.run =
      Simulate(trace, controller.setting(), [&](const PipelineSeen& seen) {
        now += seen.seconds;
        const PipelineSetting setting = controller.Update(seen);
        result.settings.push_back({.at = now, .setting = setting});
        result.warning += controller.TakeWarning();
        return setting;
      });
  result.why = controller.WhyText();
  return result;
}

inline Controlled Control(const PipelineTrace& trace,
                          int64_t memory_bytes = kMemory) {
  return Control(trace, LimitsOf(trace.job, memory_bytes));
}

}  // namespace gandem::testing
