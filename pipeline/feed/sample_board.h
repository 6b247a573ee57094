// SPDX-License-Identifier: Apache-2.0
//
// State of each sample of the coming batches: to be fetched, fetched, finished.
// The board decides which work may begin next, when a batch is complete, and
// how much memory the samples use. Has no threads and no clock.
//
// Sample positions count from the first sample of the first batch; batch b
// holds [b * batch_samples, (b + 1) * batch_samples). Samples begin in order
// and end in any order. Batches are taken in order.
//
// Memory accounting: an unfinished sample counts with its stored bytes. A
// sample being fetched counts with the maximum size of recent samples, so the
// first one is fetched alone. The next `finished_ahead` samples also count with
// their part of a batch as soon as they begin; later samples stay encoded. A
// batch is allocated when its first sample is finished, so actual use can
// exceed the count by one batch. The next batch may always begin.
//
// Owner: prefetcher.h. Thread safety: none; guarded by the owner's lock.
// Errors: the failure of the sample with the lowest position, returned in place
// of its batch after all earlier batches.
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
    int64_t memory_bytes = 0;   // of all waiting samples
  };
  // Samples [first, first + count) of one batch to finish.
  struct Work {
    int64_t first = 0;
    int64_t count = 1;
    // Set only if `count` is 1. Not set: the dataset never waits for data, so
    // the finishing thread also fetches.
    std::optional<KeptSample> stored = {};
    std::shared_ptr<float> pixels = nullptr;  // pixels of sample `first`
  };
  struct Batch {
    std::shared_ptr<float> pixels = nullptr;  // aligned to 64 bytes
    std::vector<int64_t> labels = {};
  };

  explicit SampleBoard(const Sizes& sizes)
      : sizes_(sizes), buffers_(sizes.batch_samples * sizes.sample_values) {}

  // Permits at least one fetch and finishing one batch.
  void Set(const PipelineSetting& setting);

  bool CanFetch() const;
  // Returns the position of the sample to fetch. Requires CanFetch().
  int64_t BeginFetch();
  void EndFetch(int64_t position, absl::StatusOr<KeptSample> stored,
                absl::Time now);

  bool CanFinish() const;
  Work BeginFinish();  // requires CanFinish()
  // Records `labels`; fewer than work.count if the next sample failed.
  void EndFinish(const Work& work, const std::vector<int64_t>& labels);

  // Records that finishing the sample failed. No later sample begins.
  void Fail(int64_t position, absl::Status why);

  // Returns whether the next batch is complete or has failed.
  bool CanTake() const;
  // Requires CanTake(). A failure is sticky.
  absl::StatusOr<Batch> Take();

  // Splits the wait [begin, end) for the next batch: returns the time at which
  // waiting for fetches ended and waiting for finishing began.
  absl::Time FetchedAt(absl::Time begin, absl::Time end) const;

  bool has_begun() const { return usual_bytes_.has_value(); }
  bool in_memory() const { return in_memory_; }
  int64_t taken() const { return taken_; }  // samples
  int64_t fetching() const { return fetching_; }
  // Samples fetched or finished but not yet taken.
  int64_t waiting() const { return next_ - taken_ - fetching_; }
  int64_t used_bytes() const;

 private:
  struct OpenBatch {
    Batch batch = {};
    std::vector<bool> finished = {};
    int64_t num_finished = 0;
    int64_t num_fetched = 0;
    absl::Time fetched_at = absl::InfiniteFuture();  // for the last sample
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
  // Returns whether memory suffices for `stored_bytes` more and for the
  // finished samples up to `position`.
  bool HasRoom(int64_t position, int64_t stored_bytes) const;
  void TakeRoom(int64_t position);  // for finished samples up to `position`
  // Returns the number of samples from `next_` that one call may finish.
  int64_t RunLength() const;
  float* PixelsOf(int64_t position, OpenBatch& open);

  const Sizes sizes_;
  PixelBuffers buffers_;
  PipelineSetting setting_;
  int64_t taken_ = 0;
  int64_t next_ = 0;        // first sample that has not begun
  int64_t room_until_ = 0;  // end of the samples with memory for their pixels
  int64_t fetching_ = 0;    // samples
  std::map<int64_t, KeptSample> fetched_;  // waiting to be finished
  std::deque<OpenBatch> open_;             // the front is taken next
  int64_t stored_bytes_ = 0;               // of all unfinished samples
  std::optional<int64_t> usual_bytes_;     // maximum of recent samples
  bool in_memory_ = false;
  std::optional<std::pair<int64_t, absl::Status>> failed_;  // lowest position
};

}  // namespace gandem
