// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/progress_watch.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/control/worker_position.h"

namespace gandem {
namespace {

constexpr absl::Duration kShortestLimit = absl::Seconds(60);
constexpr int kLimitInRounds = 20;
// Factor of the limit while a worker reads a checkpoint or a dataset, or waits
// for a disk. Chosen; nothing depends on it.
constexpr int kSlowParts = 10;
constexpr size_t kMostGaps = 20;
// Maximum number of workers that a message names, to keep it readable.
constexpr size_t kMostNamed = 16;

using Watched = ProgressWatch::Worker;

// Returns the indices of the workers that `worker` waits for.
std::vector<size_t> AwaitedBy(std::span<const Watched> workers, size_t worker,
                              int64_t rounds) {
  const WorkerPosition& position = workers[worker].position;
  std::vector<size_t> awaited;
  if (position.whom() == ROLE_UNKNOWN ||
      position.wait() == WorkerPosition::NOTHING) {
    return awaited;
  }
  for (size_t i = 0; i < workers.size(); ++i) {
    const WorkerKey key = workers[i].key;
    if (i != worker && key.role == position.whom() &&
        (position.rank() < 0 || key.rank == position.rank()) &&
        workers[i].completed_rounds < rounds) {
      awaited.push_back(i);
    }
  }
  return awaited;
}

}  // namespace

WorkerKey FindSuspect(std::span<const Watched> workers, int64_t rounds) {
  std::vector<bool> waits(workers.size());
  std::vector<bool> is_awaited(workers.size());
  for (size_t i = 0; i < workers.size(); ++i) {
    for (const size_t other : AwaitedBy(workers, i, rounds)) {
      waits[i] = true;
      is_awaited[other] = true;
    }
  }
  std::vector<size_t> all(workers.size());
  std::iota(all.begin(), all.end(), 0);
  const size_t suspect = *std::ranges::min_element(all, {}, [&](size_t i) {
    // A worker that has done all its rounds only serves the others.
    return std::tuple(workers[i].completed_rounds >= rounds, waits[i],
                      !is_awaited[i], workers[i].completed_rounds,
                      -workers[i].position.seconds());
  });
  return workers[suspect].key;
}

std::string WaitGraphText(std::span<const Watched> workers, int64_t rounds) {
  std::vector<std::string> parts;
  for (const Watched& worker : workers) {
    if (parts.size() == kMostNamed) {
      parts.push_back(absl::StrCat("and ", workers.size() - kMostNamed,
                                   " more workers (`gandem status`)"));
      break;
    }
    parts.push_back(absl::StrCat(ToString(worker.key), " ",
                                 worker.completed_rounds >= rounds
                                     ? "has done all rounds"
                                     : PositionText(worker.position)));
  }
  return absl::StrJoin(parts, "; ");
}

void ProgressWatch::BeginEpoch(absl::Time now) {
  judged_ = last_done_ = now;
  used_ = absl::ZeroDuration();
  at_begin_.clear();
  was_slow_part_ = true;
}

void ProgressWatch::Skip(absl::Time now) {
  last_done_ += now - judged_;
  judged_ = now;
}

bool ProgressWatch::NoteRounds(std::span<const Watched> workers) {
  const bool is_first = at_begin_.empty();
  int64_t completed = 0;
  for (const Worker& worker : workers) {
    at_begin_.emplace(worker.key, worker.completed_rounds);
    completed += worker.completed_rounds;
  }
  const bool has_more = !is_first && completed > completed_;
  completed_ = completed;
  return has_more;
}

bool ProgressWatch::IsOff(std::span<const Watched> workers) const {
  if (options_.timeout == absl::ZeroDuration()) return true;
  const bool is_held = std::ranges::any_of(workers, [](const Worker& worker) {
    return worker.position.wait() == WorkerPosition::GATE;
  });
  return is_held || std::ranges::all_of(workers, [this](const Worker& worker) {
           return worker.completed_rounds >= options_.rounds;
         });
}

bool ProgressWatch::IsSlowPart(std::span<const Watched> workers) const {
  return std::ranges::any_of(workers, [this](const Worker& worker) {
    return worker.completed_rounds <= at_begin_.at(worker.key) ||
           worker.position.wait() == WorkerPosition::CHECKPOINT;
  });
}

absl::Duration ProgressWatch::Limit() const {
  if (options_.timeout.has_value()) return *options_.timeout;
  const auto longest = std::ranges::max_element(gaps_);
  return longest == gaps_.end()
             ? kShortestLimit
             : std::max(kShortestLimit, kLimitInRounds * *longest);
}

std::optional<ProgressWatch::Stall> ProgressWatch::Judge(
    std::span<const Watched> workers, absl::Time now) {
  if (workers.empty() || IsOff(workers)) {
    Skip(now);
    return std::nullopt;
  }
  const absl::Duration passed = now - judged_;
  judged_ = now;
  const bool has_more = NoteRounds(workers);
  const bool is_slow_part = IsSlowPart(workers);
  was_slow_part_ = was_slow_part_ || is_slow_part;
  if (has_more) {
    if (!was_slow_part_) gaps_.push_back(now - last_done_);
    if (gaps_.size() > kMostGaps) gaps_.pop_front();
    last_done_ = now;
    used_ = absl::ZeroDuration();
    was_slow_part_ = is_slow_part;
    return std::nullopt;
  }
  used_ += is_slow_part ? passed / kSlowParts : passed;
  if (used_ < Limit()) return std::nullopt;
  return Stall{.suspect = FindSuspect(workers, options_.rounds),
               .text = absl::StrCat("no worker has finished a round for ",
                                    absl::ToInt64Seconds(now - last_done_),
                                    " s (control.progress_timeout_seconds): ",
                                    WaitGraphText(workers, options_.rounds))};
}

}  // namespace gandem
