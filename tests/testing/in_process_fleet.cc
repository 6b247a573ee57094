// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/in_process_fleet.h"

#include <deque>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "collective/transport_collective.h"
#include "common/check.h"
#include "common/process/thread.h"

namespace gandem::testing {
namespace {

// State that the ranks share.
class Wires {
 public:
  Wires(int size, const FleetOptions& options)
      : size_(size),
        options_(options),
        left_(size),
        failures_(size),
        chunks_(size * size) {}

  int size() const { return size_; }

  absl::Status Send(int from, int to, Chunk chunk) {
    Delay();
    absl::MutexLock lock(&mu_);
    if (!failures_[from].ok()) return failures_[from];
    std::vector<Chunk> sent = {chunk};
    if (options_.tamper) sent = options_.tamper(from, to, std::move(chunk));
    for (Chunk& each : sent) {
      chunks_[from * size_ + to].push_back(std::move(each));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Chunk> Receive(int from, int to) {
    Delay();
    absl::MutexLock lock(&mu_);
    std::deque<Chunk>& queue = chunks_[from * size_ + to];
    const auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return !queue.empty() || left_[from] || !failures_[to].ok();
    };
    mu_.Await(absl::Condition(&ready));
    if (!queue.empty()) {
      Chunk chunk = std::move(queue.front());
      queue.pop_front();
      return chunk;
    }
    if (!failures_[to].ok()) return failures_[to];
    return absl::UnavailableError(absl::StrCat("rank ", from, " has left"));
  }

  // Fails `rank`; all other ranks learn of the failure.
  void Fail(int rank, const absl::Status& reason) {
    absl::MutexLock lock(&mu_);
    if (!failures_[rank].ok()) return;
    for (int other = 0; other < size_; ++other) {
      if (!failures_[other].ok()) continue;
      failures_[other] =
          other == rank
              ? reason
              : absl::Status(reason.code(), absl::StrCat("rank ", rank, ": ",
                                                         reason.message()));
    }
  }

  void Leave(int rank) {
    absl::MutexLock lock(&mu_);
    left_[rank] = true;
  }

 private:
  void Delay() {
    if (options_.max_delay == absl::ZeroDuration()) return;
    uint64_t bits = 0;
    {
      absl::MutexLock lock(&mu_);
      bits = (options_.seed + ++draws_) * 0x9e3779b97f4a7c15u;
    }
    absl::SleepFor(options_.max_delay * static_cast<double>(bits >> 40) /
                   static_cast<double>(1 << 24));
  }

  const int size_;
  const FleetOptions options_;
  absl::Mutex mu_;
  uint64_t draws_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<bool> left_ ABSL_GUARDED_BY(mu_);
  std::vector<absl::Status> failures_ ABSL_GUARDED_BY(mu_);
  std::vector<std::deque<Chunk>> chunks_ ABSL_GUARDED_BY(mu_);
};

class InProcessTransport : public Transport {
 public:
  InProcessTransport(std::shared_ptr<Wires> wires, int rank)
      : wires_(std::move(wires)), rank_(rank) {}
  ~InProcessTransport() override { wires_->Leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return wires_->size(); }
  absl::Status Connect() override { return absl::OkStatus(); }
  absl::Status Send(int to, Chunk chunk) override {
    return wires_->Send(rank_, to, std::move(chunk));
  }
  absl::StatusOr<Chunk> Receive(int from) override {
    {
      absl::MutexLock lock(&mu_);
      from_ = from;
    }
    absl::StatusOr<Chunk> chunk = wires_->Receive(from, rank_);
    absl::MutexLock lock(&mu_);
    from_ = -1;
    return chunk;
  }
  void Close(absl::Status reason) override { wires_->Fail(rank_, reason); }
  std::string waits_for() const override {
    absl::MutexLock lock(&mu_);
    return from_ < 0 ? "" : absl::StrCat("a chunk of rank ", from_);
  }
  int rank_waited_for() const override {
    absl::MutexLock lock(&mu_);
    return from_;
  }

 private:
  const std::shared_ptr<Wires> wires_;
  const int rank_;
  mutable absl::Mutex mu_;
  int from_ ABSL_GUARDED_BY(mu_) = -1;
};

}  // namespace

std::vector<std::unique_ptr<Collective>> MakeInProcessFleet(
    int size, const FleetOptions& options) {
  const auto wires = std::make_shared<Wires>(size, options);
  std::vector<std::unique_ptr<Collective>> fleet;
  for (int rank = 0; rank < size; ++rank) {
    fleet.push_back(CreateTransportCollective(
        options.runner, std::make_unique<InProcessTransport>(wires, rank)));
  }
  return fleet;
}

std::vector<absl::Status> OnEveryRank(
    const std::vector<std::unique_ptr<Collective>>& fleet,
    const std::function<absl::Status(Collective&)>& act) {
  std::vector<absl::Status> results(fleet.size());
  std::vector<std::unique_ptr<Thread>> threads;
  for (size_t rank = 0; rank < fleet.size(); ++rank) {
    threads.push_back(std::make_unique<Thread>("rank", [&, rank] {
      results[rank] = act(*fleet[rank]);
      if (!results[rank].ok()) fleet[rank]->Close(results[rank]);
    }));
  }
  threads.clear();  // waits for them
  return results;
}

}  // namespace gandem::testing
