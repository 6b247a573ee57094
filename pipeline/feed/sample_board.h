// SPDX-License-Identifier: Apache-2.0
//
// Where each sample of a run's coming batches is: to be fetched, fetched,
// finished. What may begin next, when a batch is complete, and how much memory
// all that takes; no thread and no clock of its own.
//
// Samples have positions: 0 is the first of the first batch, and batch b holds
// [b * batch_samples, (b + 1) * batch_samples). They begin in this order, end
// in any, and batches are taken in order. One whose piece of a file another
// fetch brings is put off until that one ends: fetches that are under way at
// once are of different pieces. Behind them some are looked at: their pieces
// are brought, and they are fetched later. An order of windows needs nearly all
// pieces of the next window at once, so they have to be there by then.
//
// Memory: until it is finished, a sample counts with its stored bytes; while it
// is being fetched or put off, with the most that samples of late had (so the
// first is fetched alone). Those of the next `finished_ahead` count with their
// part of a batch, too, from when they begin; the others stay as they are
// stored. A batch's memory is made when its first sample is finished, so up to
// one batch more is taken than what counts. The batch that is taken next begins
// whatever it needs.
//
// Owner: prefetcher.h. Thread safety: none; its owner's lock.
// Errors: the failure of the sample with the lowest position, in its batch's
// place: batches before it are completed.
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
    // Samples of a window of the order (data_order.h), whose pieces are kept
    // for a while, in as much memory; 0: there are none.
    int64_t window_samples = 0;
  };
  // Samples [first, first + count), of one batch, to be finished.
  struct Work {
    int64_t first = 0;
    int64_t count = 1;
    // Of count 1. Not set: nothing of this dataset has to be waited for, so
    // they are fetched by whoever finishes them.
    std::optional<KeptSample> stored = {};
    std::shared_ptr<float> pixels = nullptr;  // of the sample `first`
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
  // In place of EndFetch: the fetch of `position` gave way to that of `other`,
  // and may begin again when that has ended.
  // `other` is what ReadNumber says.
  void PutOff(int64_t position, int64_t other);

  // Where pieces are shared, and nothing can be fetched.
  bool CanLook() const;
  int64_t BeginLook();  // the position; only if CanLook()
  void EndLook(int64_t position);

  // What a fetch is called as a read that others give way to (give_way.h).
  static int64_t ReadNumber(int64_t position, bool looks) {
    return looks ? ~position : position;
  }

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

  // Of the [begin, end) of a wait for the next batch: until when that was a
  // wait for fetches. What follows is one for finishing.
  absl::Time FetchedAt(absl::Time begin, absl::Time end) const;

  // One sample is there, so that it is known what they are like.
  bool has_begun() const { return usual_bytes_.has_value(); }
  // Nothing has to be fetched: all is in memory.
  bool in_memory() const { return in_memory_; }
  int64_t taken() const { return taken_; }  // samples
  int64_t fetching() const { return std::ssize(fetching_); }
  // Samples that began to be fetched, and wait for other fetches.
  int64_t put_off() const { return put_off_; }
  // Samples that were fetched or finished and are not taken.
  int64_t waiting() const {
    return next_ - taken_ - (fetching() - looking_) - put_off_;
  }
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
  // A read that is no longer under way.
  void Leave(int64_t number);
  int64_t LookAhead() const;
  void TakeRoom(int64_t position);  // of finished samples, up to it
  // Samples from `next_` on that one call may finish.
  int64_t RunLength() const;
  float* PixelsOf(int64_t position, OpenBatch& open);

  const Sizes sizes_;
  PixelBuffers buffers_;
  PipelineSetting setting_;
  int64_t taken_ = 0;
  int64_t next_ = 0;        // the first that has not begun
  int64_t room_until_ = 0;  // of finished samples, for which memory counts
  // What is being fetched or looked at, by ReadNumber, each with the positions
  // that were put off until it ends.
  std::map<int64_t, std::vector<int64_t>> fetching_;
  int64_t put_off_ = 0;      // those in fetching_, and
  std::set<int64_t> again_;  // those that may begin again
  int64_t looked_ = 0;       // the first that was not
  int64_t looking_ = 0;
  bool shares_pieces_ = false;                 // something was put off
  std::map<int64_t, KeptSample> fetched_;      // not begun to be finished
  std::deque<OpenBatch> open_;                 // the first is taken next
  int64_t stored_bytes_ = 0;                   // of all that are not finished
  std::map<int64_t, int64_t> being_finished_;  // position to stored bytes
  std::optional<int64_t> usual_bytes_;  // of a stored sample, at most of late
  bool in_memory_ = false;
  std::optional<std::pair<int64_t, absl::Status>> failed_;  // lowest position
};

}  // namespace gandem
