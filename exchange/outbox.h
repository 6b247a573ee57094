// SPDX-License-Identifier: Apache-2.0
//
// Images that a generator has sent and the discriminator has not acknowledged,
// in order, at most one round. A new connection resends them. Has no lock.
//
// Owner: ClientCore, under its mutex. Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"

namespace gandem {

class Outbox {
 public:
  explicit Outbox(const Schedule& schedule)
      : max_images_(MaxImages(schedule)) {}

  static constexpr int64_t MaxImages(const Schedule& schedule) {
    return std::max(schedule.TrainImagesPerRound(), schedule.generator_batch);
  }

  // Returns whether the batch fits. An empty outbox has room for any batch.
  bool HasRoom(const ImageBatch& batch) const {
    return batches_.empty() || images_ + batch.count <= max_images_;
  }

  void Add(const ImageBatch& batch) {
    batches_.push_back(batch);
    images_ += batch.count;
  }

  // Marks all batches as unsent, for a new connection.
  void Rewind() { sent_ = 0; }

  // Returns the next batch to send on this connection.
  std::optional<ImageBatch> Next() {
    if (sent_ == batches_.size()) return std::nullopt;
    return batches_[sent_++];
  }

  // Removes the oldest batch; acknowledgments come in order of sending.
  //   INVALID_ARGUMENT  the ACK is for another batch
  absl::Status Acknowledge(ImageUse use, int64_t round, int64_t first_index) {
    if (sent_ == 0 || batches_.front().use != use ||
        batches_.front().round != round ||
        batches_.front().first_index != first_index) {
      return absl::InvalidArgumentError(
          "the ACK is not for the oldest images sent");
    }
    images_ -= batches_.front().count;
    batches_.erase(batches_.begin());
    --sent_;
    return absl::OkStatus();
  }

  bool empty() const { return batches_.empty(); }

 private:
  int64_t max_images_;
  int64_t images_ = 0;
  std::vector<ImageBatch> batches_;
  size_t sent_ = 0;  // batches sent on this connection
};

}  // namespace gandem
