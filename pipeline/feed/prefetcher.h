// SPDX-License-Identifier: Apache-2.0
//
// Reads the real images of upcoming discriminator steps in the background.
// Fetching threads wait for stored samples; finishing threads decode them
// directly into their batch. PipelineController chooses the number of threads
// and the read-ahead every 100 ms. The delivered images depend only on the
// dataset, seed and batch size (design.md section 5).
//
// Finishing threads have a lower priority than the trainer. Idle threads block;
// only a trainer that waits in Next polls. A dataset in memory needs no
// fetching threads and uses all permitted finishing threads.
//
// Owner: a discriminator worker's run epoch; outlives calls of Next. The
// destructor waits for running fetches, which the dataset's deadlines limit.
// Thread safety: Next from one thread, everything else from any thread.
// Errors of Next:
//   DEADLINE_EXCEEDED  no batch was ready in time; nothing changed.
//   otherwise the dataset's first failure in sample order, or the reason given
//   to Close(), after all earlier batches; sticky. A deadline passed inside the
//   dataset becomes UNAVAILABLE.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/shared_bytes.h"
#include "pipeline/control/controller.h"
#include "pipeline/data_order.h"
#include "pipeline/dataset.h"
#include "pipeline/feed/feed_meter.h"
#include "pipeline/feed/sample_board.h"
#include "pipeline/feed/thread_crew.h"

namespace gandem {

// Real images of one step on this rank.
struct RealBatch {
  int64_t step = 0;         // u, counted from the start of the run
  int64_t first_image = 0;  // within the step's first batch
  // float32 NCHW in [-1, 1]; the address is a multiple of 64.
  SharedBytes pixels;
  std::vector<int64_t> labels = {};  // kNoLabel where there are none
};

class Prefetcher {
 public:
  struct Options {
    uint64_t seed = 0;
    int64_t first_step = 0;  // >= 0; the steps follow without a gap
    int64_t batch_size = 0;  // required: B_D, of the whole fleet
    int64_t batches = 1;     // of a step, one after the other
    // Part [first_image, first_image + num_images) of each batch that this rank
    // trains on; num_images 0: up to the end of the batch.
    int64_t first_image = 0;
    int64_t num_images = 0;
    int64_t depth = 4;  // minimum read-ahead in steps, 1 to 1024
    // Memory for waiting samples in any state, the batch taken last and one
    // spare batch. May be exceeded by up to one batch, because the next batch
    // always fits (sample_board.h). At least half of it is for waiting samples.
    // Takes precedence over `depth`.
    int64_t memory_bytes = int64_t{256} << 20;
    int max_fetches = 64;  // concurrent fetches, 1 to 1024
    // Finishing threads: cores that the trainer leaves free, 1 to 1024.
    int max_workers = 1;
    // Fixed setting that replaces the controller's, for measurements.
    std::optional<PipelineSetting> held = {};
    Clock* clock = Clock::Real();

    int64_t StepImages() const { return batches * num_images; }
  };

  // Starts reading. INVALID_ARGUMENT lists all options out of range.
  static absl::StatusOr<std::unique_ptr<Prefetcher>> Create(
      std::shared_ptr<const Dataset> dataset, Options options);
  ~Prefetcher();

  // Waits for the batch of the next step.
  absl::StatusOr<RealBatch> Next(absl::Time deadline);

  // Stops reading; `reason` must not be OK. Does not wait for threads.
  void Close(absl::Status reason);

  FeedStats TakeStats();

 private:
  Prefetcher(std::shared_ptr<const Dataset> dataset, const Options& options);

  struct FetchWork {
    int64_t position = 0;
    absl::Time began;
  };

  void FetchLoop();
  void FinishLoop();
  bool FetcherWakes() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  bool FinisherWakes() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  bool TakerWakes() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // Block until there is work. Return nullopt once the prefetcher is closed.
  std::optional<FetchWork> NextFetch();
  std::optional<SampleBoard::Work> NextWork();
  absl::StatusOr<KeptSample> FetchAndKeep(int64_t position);
  void Fetch(const FetchWork& work);
  void Finish(SampleBoard::Work work);
  // Returns nullopt if no batch is complete by `deadline`.
  std::optional<absl::StatusOr<RealBatch>> TakeUntil(absl::Time deadline);

  void Update(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  PipelineSetting NextSetting(const PipelineSeen& seen)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Apply(const PipelineSetting& setting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartThreads();
  PipelineSetting InMemory() const;

  int64_t StepOf(int64_t position) const {
    return options_.first_step + position / options_.StepImages();
  }
  int64_t NumberOf(int64_t position) const {
    const int64_t batch =
        options_.first_step * options_.batches + position / options_.num_images;
    return batch * options_.batch_size + options_.first_image +
           position % options_.num_images;
  }

  // Never change after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const Options options_;
  const DataOrder order_;

  ByteChunks chunks_;               // stored bytes of waiting samples
  std::atomic<bool> stop_ = false;  // stops fetches that wait for a network
  absl::Mutex mu_;
  SampleBoard board_ ABSL_GUARDED_BY(mu_);
  FeedMeter meter_ ABSL_GUARDED_BY(mu_);
  PipelineController controller_ ABSL_GUARDED_BY(mu_);
  PipelineSetting setting_ ABSL_GUARDED_BY(mu_);
  int finishing_ ABSL_GUARDED_BY(mu_) = 0;    // threads
  absl::Status closed_ ABSL_GUARDED_BY(mu_);  // sticky
  // Last, because the threads use all members above.
  ThreadCrew fetchers_;
  ThreadCrew finishers_;
};

}  // namespace gandem
