// SPDX-License-Identifier: Apache-2.0
//
// Reads the real images of the coming discriminator steps in the background:
// threads that wait for stored samples, and threads that finish these right
// into their batch. How many, and how far ahead, is PipelineController's
// choice, every 100 ms; a dataset in memory has all threads that it may. What
// is delivered depends on the dataset, seed and batch size alone, not on that
// nor on timing (design.md section 5).
//
// Threads that finish run at a lower priority than the trainer. Without work
// all wait; nothing is polled, but by a trainer that waits in Next. A dataset
// in memory (its Fetch gives nothing) has no threads that fetch.
//
// Owner: a discriminator worker's run epoch; it outlives the call of Next. Its
// end waits for the fetches that are under way: their deadlines are the
// dataset's.
// Thread safety: Next from one thread, all else from any.
// Errors of Next:
//   DEADLINE_EXCEEDED  nothing was ready in time; nothing changed.
//   the first failure of the dataset, in the order of samples, or Close()'s
//   reason, once the batches from before have been taken; sticky. A deadline
//   that a read of the dataset has passed is UNAVAILABLE.
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

// The real images of a step that Options describe.
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
    // The part [first_image, first_image + num_images) of each batch that this
    // rank trains on; num_images 0: up to its end.
    int64_t first_image = 0;
    int64_t num_images = 0;
    int64_t depth = 4;  // steps ahead at least, 1 to 1024
    // Memory for waiting samples in any state, the batch that was taken and one
    // spare batch. The use may exceed it by up to a batch, because the next
    // batch always fits (sample_board.h). If two batches are more than half of
    // it, half is for waiting samples. Takes precedence over `depth`.
    int64_t memory_bytes = int64_t{256} << 20;
    int max_fetches = 64;  // at once, 1 to 1024
    // Threads that finish samples: cores that the trainer leaves free, at least
    // 1, at most 1024.
    int max_workers = 1;
    // Setting to use in place of the controller's: for measurements.
    std::optional<PipelineSetting> held = {};
    Clock* clock = Clock::Real();

    int64_t StepImages() const { return batches * num_images; }
  };

  // Starts reading at once. INVALID_ARGUMENT lists every option that is out of
  // range.
  static absl::StatusOr<std::unique_ptr<Prefetcher>> Create(
      std::shared_ptr<const Dataset> dataset, Options options);
  ~Prefetcher();

  // Waits for the batch of the next step.
  absl::StatusOr<RealBatch> Next(absl::Time deadline);

  // Stops reading; `reason` must not be OK. Does not wait.
  void Close(absl::Status reason);

  // Since the last call.
  FeedStats TakeStats();

 private:
  Prefetcher(std::shared_ptr<const Dataset> dataset, const Options& options);

  struct FetchWork {
    int64_t position = 0;
    absl::Time began;
  };

  // The threads.
  void FetchLoop();
  void FinishLoop();
  bool FetcherWakes() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  bool FinisherWakes() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  bool TakerWakes() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // Wait for work; none: the prefetcher is closed.
  std::optional<FetchWork> NextFetch();
  std::optional<SampleBoard::Work> NextWork();
  absl::StatusOr<KeptSample> FetchAndKeep(int64_t position);
  void Fetch(const FetchWork& work);
  void Finish(SampleBoard::Work work);
  // None: there is no batch by then.
  std::optional<absl::StatusOr<RealBatch>> TakeUntil(absl::Time deadline);

  // Asks the controller if it is time for it.
  void Update(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  PipelineSetting NextSetting(const PipelineSeen& seen)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Apply(const PipelineSetting& setting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartThreads();
  PipelineSetting InMemory() const;

  int64_t StepOf(int64_t position) const {
    return options_.first_step + position / options_.StepImages();
  }
  // Number of the sample in the run.
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

  ByteChunks chunks_;               // of samples that wait
  std::atomic<bool> stop_ = false;  // stops fetches that wait for a network
  absl::Mutex mu_;
  SampleBoard board_ ABSL_GUARDED_BY(mu_);
  FeedMeter meter_ ABSL_GUARDED_BY(mu_);
  PipelineController controller_ ABSL_GUARDED_BY(mu_);
  PipelineSetting setting_ ABSL_GUARDED_BY(mu_);
  int finishing_ ABSL_GUARDED_BY(mu_) = 0;    // threads
  absl::Status closed_ ABSL_GUARDED_BY(mu_);  // sticky
  // Last: they use all of the above.
  ThreadCrew fetchers_;
  ThreadCrew finishers_;
};

}  // namespace gandem
