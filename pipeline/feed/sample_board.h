// SPDX-License-Identifier: Apache-2.0
//
// State of each sample of a run's coming batches: to be fetched, fetched,
// finished. The board tells which work may begin next, when a batch is
// complete, and how much memory all samples take. It has no thread and no clock
// of its own.
//
// Samples have positions: 0 is the first of the first batch, and batch b holds
// [b * batch_samples, (b + 1) * batch_samples). They begin in this order, end
// in any, and batches are taken in order.
//
// Memory: until it is finished, a sample counts with its stored bytes; while it
// is being fetched, with the most bytes of recent samples (so the first is
// fetched alone). The next `finished_ahead` samples also count with their part
// of a batch from when they begin; the others stay as they are stored. A
// batch's memory is made when its first sample is finished, so up to one batch
// more is taken than what counts. The batch that is taken next begins whatever
// it needs.
//
// Owner: prefetcher.h. Thread safety: none; its owner's lock.
// Errors: the failure of the sample with the lowest position, in its batch's
// place: batches before it are completed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "pipeline/control/controller.h"
#include "pipeline/dataset.h"
#include "pipeline/feed/pixel_buffers.h"
#include "pipeline/memory/byte_chunks.h"

namespace gandem {

// A sample as it is stored, while it waits.
struct KeptSample {
  ByteChunks::Bytes image = {};
  ByteChunks::Bytes input = {};

  StoredView view() const { return {image.view, input.view}; }
  int64_t bytes() const { return view().bytes(); }
};

class SampleBoard {
 public:
  struct Sizes {
    int64_t batch_samples = 1;
    int64_t sample_values = 1;  // floats of a finished sample
    int64_t memory_bytes = 0;   // of all that waits
  };
  // Samples [first, first + count), of one batch, to be finished.
  struct Work {
    int64_t first = 0;
    int64_t count = 1;
    // Set only if `count` is 1. Not set: the dataset never waits for data, so
    // the thread that finishes samples also fetches them.
    std::optional<KeptSample> stored = {};
    std::shared_ptr<float> pixels = nullptr;  // pixels of the sample `first`
  };
  struct Batch {
    std::shared_ptr<float> pixels = nullptr;  // aligned to 64 bytes
    std::vector<int64_t> labels = {};
  };

  explicit SampleBoard(const Sizes& sizes)
      : sizes_(sizes), buffers_(sizes.batch_samples * sizes.sample_values) {}

  // At least one fetch, and a batch ahead that may be finished.
  void Set(const PipelineSetting& setting);

  bool CanFetch() const;
  // The position of the sample to be fetched; only if CanFetch().
  int64_t BeginFetch();
  void EndFetch(int64_t position, absl::StatusOr<KeptSample> stored,
                absl::Time now);

  bool CanFinish() const;
  Work BeginFinish();  // only if CanFinish()
  // `work` was finished, and its `labels` are these; fewer than work.count if
  // the next one failed.
  void EndFinish(const Work& work, const std::vector<int64_t>& labels);

  // Finishing the sample failed. Nothing from it on begins.
  void Fail(int64_t position, absl::Status why);

  // The next batch is complete, or will never be.
  bool CanTake() const;
  // Only if CanTake(). A failure is sticky.
  absl::StatusOr<Batch> Take();

  // Splits the wait [begin, end) for the next batch: until the returned time it
  // was a wait for fetches, from then on for finishing.
  absl::Time FetchedAt(absl::Time begin, absl::Time end) const;

  // Whether one sample is fetched, so that the size of samples is known.
  bool has_begun() const { return usual_bytes_.has_value(); }
  // Whether all data is in memory, so that nothing has to be fetched.
  bool in_memory() const { return in_memory_; }
  int64_t taken() const { return taken_; }  // samples
  int64_t fetching() const { return fetching_; }
  // Samples that were fetched or finished and are not taken.
  int64_t waiting() const { return next_ - taken_ - fetching_; }
  int64_t used_bytes() const;

 private:
  struct OpenBatch {
    Batch batch = {};
    std::vector<bool> finished = {};
    int64_t num_finished = 0;
    int64_t num_fetched = 0;
    absl::Time fetched_at = absl::InfiniteFuture();  // the last of its samples
  };

  int64_t sample_bytes() const {
    return sizes_.sample_values * static_cast<int64_t>(sizeof(float));
  }
  int64_t BatchOf(int64_t position) const {
    return position / sizes_.batch_samples;
  }
  OpenBatch& Open(int64_t position);
  bool IsOfNextBatch(int64_t position) const {
    return position < taken_ + sizes_.batch_samples;
  }
  // There is memory for `stored_bytes` more, and for the finished samples up to
  // `position`.
  bool HasRoom(int64_t position, int64_t stored_bytes) const;
  void TakeRoom(int64_t position);  // of finished samples, up to `position`
  // Samples from `next_` on that one call may finish.
  int64_t RunLength() const;
  float* PixelsOf(int64_t position, OpenBatch& open);

  const Sizes sizes_;
  PixelBuffers buffers_;
  PipelineSetting setting_;
  int64_t taken_ = 0;
  int64_t next_ = 0;        // the first that has not begun
  int64_t room_until_ = 0;  // of finished samples, for which memory counts
  int64_t fetching_ = 0;    // samples
  std::map<int64_t, KeptSample> fetched_;  // not begun to be finished
  std::deque<OpenBatch> open_;             // the first is taken next
  int64_t stored_bytes_ = 0;               // of all that are not finished
  std::optional<int64_t> usual_bytes_;  // most bytes of a recent stored sample
  bool in_memory_ = false;
  std::optional<std::pair<int64_t, absl::Status>> failed_;  // lowest position
};

}  // namespace gandem
