// SPDX-License-Identifier: Apache-2.0
//
// What both ends of the exchange know about the run, and the checks of a batch
// against it. Both ends get the same values except `rank` and `incarnation`.
// The values come from a valid config (common/config/run_config.h) and from the
// coordinator; nothing here checks them again.
//
// Owner: values; copy freely.
// Thread safety: pure functions.
// Errors: INVALID_ARGUMENT, naming field and value.
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
  // The first round of this run epoch: 0, or the round after a checkpoint.
  int64_t first_round = 0;
  // Rounds of TRAIN images that the cache holds; 0: lag + 1. >= max(1, lag).
  int64_t cache_rounds = 0;
  int64_t cache_bytes = int64_t{1} << 30;  // >= max(1, lag) rounds of images
  // Of one message, header included; 64 KiB to 2 GiB - 1.
  int64_t max_message_bytes = int64_t{1} << 30;
  TensorFormat image_format = {};     // required
  TensorFormat feedback_format = {};  // required where images are answered

  // A generator that has said that it finished, but whose last word was lost
  // with it, counts as finished after this time.
  absl::Duration finish_grace = absl::Seconds(30);

  // Who takes part. Every message carries run epoch and incarnation.
  uint64_t config_hash = 0;
  int64_t run_epoch = 0;
  int64_t incarnation = 0;
  int rank = 0;                // of this end in its own fleet
  int num_generators = 1;      // >= 1
  int num_discriminators = 1;  // >= 1
  // Rounds by which one discriminator rank may be behind another, whose critic
  // has let the generators go on; 0 for the only one. >= 0
  int64_t discriminator_skew = 0;

  // Images that the cache holds: the smaller one of both budgets.
  int64_t CacheImages() const;
};

// Is there such a generator?
absl::Status CheckGeneratorRank(const ExchangeOptions& options, int rank);

// Do use, index range, version, format and size fit the run? Which rounds are
// acceptable at a moment is image_ledger.h's business.
absl::Status CheckImageBatch(const ExchangeOptions& options,
                             const ImageBatch& batch);
absl::Status CheckFeedbackBatch(const ExchangeOptions& options,
                                const FeedbackBatch& batch);

// Does the discriminator train on images of this use?
constexpr bool IsTrained(ImageUse use) { return use != ImageUse::kFeedback; }
// Does it answer them?
constexpr bool IsAnswered(ImageUse use) { return use != ImageUse::kTrain; }

}  // namespace gandem
