// SPDX-License-Identifier: Apache-2.0
//
// Measures how long a simulated trainer waits for real images, and the memory
// and CPU time of reading them, with the controller or with a fixed setting.
// stalls.py runs it behind an emulated link.

#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "benchmarks/measure.h"
#include "common/check.h"
#include "common/process/thread.h"
#include "pipeline/feed/prefetcher.h"
#include "pipeline/io_counters.h"
#include "pipeline/sources/open_dataset.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr absl::Duration kLongestWait = absl::Minutes(5);

struct StallOptions {
  std::string source;
  int64_t size = 64;  // height and width of images in pixels
  int64_t batch = 64;
  double batch_seconds = 0.05;  // compute time per batch
  double seconds = 60;
  double warm_up = 5;  // seconds before the measurement
  int workers = 1;     // largest number of decoding threads
  int64_t memory_bytes = int64_t{512} << 20;
  std::string hold;  // FETCHES,WORKERS,AHEAD; empty: the controller decides
  double pause = 0;  // seconds for which the trainer stops in the middle
};

std::optional<PipelineSetting> ParseHeld(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  PipelineSetting held;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &held.fetches) ||
      !absl::SimpleAtoi(parts[1], &held.workers) ||
      !absl::SimpleAtoi(parts[2], &held.ahead) || held.fetches < 1 ||
      held.workers < 1 || held.ahead < 1) {
    return std::nullopt;
  }
  held.finished_ahead = held.ahead;
  return held;
}

// Returns the resident bytes of this process without mapped files, because
// program pages are not part of the memory for images.
int64_t ResidentBytes() {
  int64_t pages = 0;
  int64_t resident = 0;
  int64_t of_files = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident >> of_files;
  return (resident - of_files) * sysconf(_SC_PAGESIZE);
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Samples the resident memory twenty times a second in its own thread.
class MemoryWatch {
 public:
  MemoryWatch() : thread_("memory", [this] { Run(); }) {}
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;
  ~MemoryWatch() { Stop(); }

  void Stop() {
    stop_ = true;
    thread_.Join();
  }
  // Statistics of the samples. Call Stop() first.
  int64_t most() const { return most_; }
  int64_t mean() const { return looks_ > 0 ? sum_ / looks_ : 0; }

 private:
  void Run() {
    while (!stop_) {
      const int64_t bytes = ResidentBytes();
      most_ = std::max(most_, bytes);
      sum_ += bytes;
      ++looks_;
      absl::SleepFor(absl::Milliseconds(50));
    }
  }

  std::atomic<bool> stop_ = false;
  int64_t most_ = 0;
  int64_t sum_ = 0;
  int64_t looks_ = 0;
  Thread thread_;
};

// Pauses the trainer. Returns the activity in the second half of the pause, by
// which time reading should have stopped.
nlohmann::json Pause(double seconds) {
  absl::SleepFor(absl::Seconds(seconds / 2));
  const double cpu = CpuSeconds();
  const int64_t bytes = ProcessIoCounters().bytes;
  absl::SleepFor(absl::Seconds(seconds / 2));
  return {{"seconds", seconds / 2},
          {"cpu_seconds", CpuSeconds() - cpu},
          {"remote_bytes", ProcessIoCounters().bytes - bytes}};
}

struct Taken {
  double seconds = 0;  // without the warm-up and the pause
  double waited = 0;   // waiting for batches
  double stalled = 0;  // waiting for batches that were not ready
  double longest = 0;
  int64_t batches = 0;
  nlohmann::json pause = nullptr;
};

Taken Take(Prefetcher& prefetcher, const StallOptions& options) {
  Taken taken;
  // The first batch is not measured, because it also opens the files.
  GANDEM_CHECK_OK(prefetcher.Next(MonotonicNow() + kLongestWait).status());
  const absl::Time counts_from = absl::Now() + absl::Seconds(options.warm_up);
  absl::Time end = counts_from + absl::Seconds(options.seconds);
  const absl::Time middle = counts_from + absl::Seconds(options.seconds / 2);
  bool paused = options.pause <= 0;
  while (absl::Now() < end || taken.batches == 0) {
    if (!paused && absl::Now() >= middle) {
      paused = true;
      taken.pause = Pause(options.pause);
      end += absl::Seconds(options.pause);
    }
    const absl::Time asked = absl::Now();
    const auto batch = prefetcher.Next(MonotonicNow() + kLongestWait);
    GANDEM_CHECK_OK(batch.status());
    // A wait that began in the warm-up counts only from the end of the warm-up.
    const double waited =
        absl::ToDoubleSeconds(absl::Now() - std::max(asked, counts_from));
    // Simulates computation on an accelerator, which takes no CPU time.
    absl::SleepFor(absl::Seconds(options.batch_seconds));
    const FeedStats stats = prefetcher.TakeStats();
    if (waited < 0) continue;
    ++taken.batches;
    taken.waited += waited;
    taken.stalled += std::min(
        waited, stats.fetch_stall_seconds + stats.finish_stall_seconds);
    taken.longest = std::max(taken.longest, waited);
  }
  taken.seconds = absl::ToDoubleSeconds(absl::Now() - counts_from);
  if (taken.pause != nullptr) taken.seconds -= options.pause;
  return taken;
}

nlohmann::json Measure(const StallOptions& options) {
  DataConfig data;
  data.set_source(options.source);
  data.set_image_size(options.size);
  data.set_memory_bytes(options.memory_bytes);
  const int64_t before = ResidentBytes();
  auto dataset = OpenDataset(data);
  GANDEM_CHECK_OK(dataset.status());
  const double cpu = CpuSeconds();
  MemoryWatch memory;
  auto prefetcher = Prefetcher::Create(
      *std::move(dataset),
      {.seed = 1,
       .batch_size = options.batch,
       .memory_bytes = options.memory_bytes / 2,  // the rest: blocks
       .max_workers = options.workers,
       .held = ParseHeld(options.hold)});
  GANDEM_CHECK_OK(prefetcher.status());
  const Taken taken = Take(**prefetcher, options);
  const FeedStats stats = (*prefetcher)->TakeStats();
  const double used = CpuSeconds() - cpu;
  memory.Stop();
  const IoCounters& io = ProcessIoCounters();
  return {{"setting", options.hold.empty() ? "controller" : options.hold},
          {"seconds", taken.seconds},
          {"batches", taken.batches},
          {"waited_seconds", taken.waited},
          {"stalled_seconds", taken.stalled},
          {"longest_wait_seconds", taken.longest},
          {"waited_share", taken.waited / taken.seconds},
          {"cpu_seconds", used},
          {"memory_bytes", options.memory_bytes},
          {"mean_memory_bytes", memory.mean() - before},
          {"most_memory_bytes", memory.most() - before},
          {"last_fetches", stats.setting.fetches},
          {"last_workers", stats.setting.workers},
          {"last_ahead", stats.setting.ahead},
          {"remote_bytes", io.bytes.load()},
          {"requests", io.requests.load()},
          {"retries", io.retries.load()},
          {"pause", taken.pause}};
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  CLI::App app("How long a trainer waits for real images");
  gandem::StallOptions options;
  std::string json;
  app.add_option("--source", options.source, "Source of images (data.source)")
      ->required();
  app.add_option("--size", options.size, "Side of an image in pixels")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Images per batch")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--batch_seconds", options.batch_seconds,
                 "Seconds of computation per batch")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Seconds of the measurement")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
  app.add_option("--warm_up", options.warm_up, "Seconds before the measurement")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--workers", options.workers, "Maximum of decoding threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--memory_bytes", options.memory_bytes,
                 "Memory limit of the pipeline in bytes")
      ->check(CLI::Range(int64_t{1} << 20, int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--hold", options.hold,
                 "Fixed setting FETCHES,WORKERS,AHEAD [the controller decides]")
      ->check([](const std::string& text) {
        return gandem::ParseHeld(text).has_value() ? "" : "three numbers >= 1";
      });
  app.add_option("--pause", options.pause,
                 "Seconds for which the trainer stops in the middle")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--json", json, "JSON file for the result");
  CLI11_PARSE(app, argc, argv);
  const nlohmann::json result = gandem::Measure(options);
  std::printf("%s\n", result.dump().c_str());
  gandem::WriteResult(json, result);
  return 0;
}
