// SPDX-License-Identifier: Apache-2.0
//
// Reads the real images of the coming discriminator steps in the background.
// What it delivers depends on the dataset, seed and batch size alone, not on
// the depth or on timing (design.md section 5).
//
// Owner: a discriminator worker's run epoch; it outlives the call of Next.
// Thread safety: Next from one thread, Close from any.
// Errors of Next:
//   DEADLINE_EXCEEDED  nothing was ready in time; nothing changed.
//   the first failure of the dataset, or Close()'s reason, once the batches
//   from before have been taken; sticky.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/bounded_queue.h"
#include "common/process/thread.h"
#include "common/shared_bytes.h"
#include "pipeline/data_order.h"
#include "pipeline/dataset.h"

namespace gandem {

// The real images [first_image, first_image + labels.size()) of a step.
struct RealBatch {
  int64_t step = 0;         // u, counted from the start of the run
  int64_t first_image = 0;  // within the step's batch
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
    // The part [first_image, first_image + num_images) of each step's batch
    // that this rank trains on; num_images 0: up to its end.
    int64_t first_image = 0;
    int64_t num_images = 0;
    int64_t depth = 4;  // batches that may wait, 1 to 1024
  };

  // Starts reading at once. INVALID_ARGUMENT lists every option that is out of
  // range.
  static absl::StatusOr<std::unique_ptr<Prefetcher>> Create(
      std::shared_ptr<const Dataset> dataset, Options options);
  ~Prefetcher();

  // Waits for the batch of the next step.
  absl::StatusOr<RealBatch> Next(absl::Time deadline) {
    return batches_.Pop(deadline);
  }

  // Stops reading; `reason` must not be OK.
  void Close(absl::Status reason) { batches_.Close(std::move(reason)); }

 private:
  Prefetcher(std::shared_ptr<const Dataset> dataset, Options options);
  void Run();
  absl::StatusOr<RealBatch> ReadBatch(int64_t step) const;

  // Never change after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const Options options_;
  const DataOrder order_;

  BoundedQueue<RealBatch> batches_;
  Thread thread_;  // last: it uses all of the above
};

}  // namespace gandem
