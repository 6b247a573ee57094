// SPDX-License-Identifier: Apache-2.0
//
// Facts about the run for both ends of the exchange, and checks of batches
// against them. Both ends get equal values except for `rank` and `incarnation`.
// The values come from a valid config (common/config/run_config.h) and from the
// coordinator, and are not checked again.
//
// Owner: values. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT names field and value.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"

namespace gandem {

struct ExchangeOptions {
  Schedule schedule = {};
  int64_t max_samples_per_image = 1;  // BOUNDED; >= 1
  // First round of this run epoch: 0, or the round after a checkpoint.
  int64_t first_round = 0;
  // Rounds of TRAIN images in the cache, >= max(1, lag); 0: lag + 1.
  int64_t cache_rounds = 0;
  int64_t cache_bytes = int64_t{1} << 30;  // >= max(1, lag) rounds of images
  // Limit for one message including its header; 64 KiB to 2 GiB - 1.
  int64_t max_message_bytes = int64_t{1} << 30;
  TensorFormat image_format = {};     // required
  TensorFormat feedback_format = {};  // required if images are answered

  // Time after which a generator counts as finished if unconfirmed.
  absl::Duration finish_grace = absl::Seconds(30);

  // Participants. Every message carries run epoch and incarnation.
  uint64_t config_hash = 0;
  int64_t run_epoch = 0;
  int64_t incarnation = 0;
  int rank = 0;                // of this end in its own fleet
  int num_generators = 1;      // >= 1
  int num_discriminators = 1;  // >= 1
  // Rounds by which a discriminator rank may trail the rank whose critic has
  // released the generators; 0 for a single rank. >= 0
  int64_t discriminator_skew = 0;

  // Returns the number of images that fit into the smaller of both budgets.
  int64_t CacheImages() const;
};

absl::Status CheckGeneratorRank(const ExchangeOptions& options, int rank);

// Check that a batch fits the run, except for its round (ImageLedger).
absl::Status CheckImageBatch(const ExchangeOptions& options,
                             const ImageBatch& batch);
absl::Status CheckFeedbackBatch(const ExchangeOptions& options,
                                const FeedbackBatch& batch);

// Returns whether the discriminator trains on images of this use.
constexpr bool IsTrained(ImageUse use) { return use != ImageUse::kFeedback; }
// Returns whether the discriminator answers images of this use.
constexpr bool IsAnswered(ImageUse use) { return use != ImageUse::kTrain; }

}  // namespace gandem
