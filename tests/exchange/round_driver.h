// SPDX-License-Identifier: Apache-2.0
//
// Both roles of a run without networks. They execute GeneratorRound and
// DiscriminatorRound, exchange bytes that identify their origin, and check all
// received data. Each call of Advance makes at most one waiting call, so one
// thread can drive both roles alternately, or one thread each.
//
// Owner: the test; the exchange outlives it. Thread safety: one thread each.
// Errors: those of the exchange; DATA_LOSS for wrong content.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"

namespace gandem::testing {

class GeneratorDriver {
 public:
  // Runs rounds [first_round, last_round] of `options`, then Finish().
  GeneratorDriver(const ExchangeOptions& options, int64_t last_round,
                  GeneratorExchange* exchange);

  // Runs one operation; returns false at the end. DEADLINE_EXCEEDED: call
  // again.
  absl::StatusOr<bool> Advance(absl::Time deadline);
  int64_t round() const { return round_; }

 private:
  absl::Status Run(const GeneratorOp& op, absl::Time deadline);

  const ExchangeOptions options_;
  const int64_t last_round_;
  GeneratorExchange* const exchange_;
  int64_t round_;
  std::vector<GeneratorOp> ops_;
  size_t next_op_ = 0;
};

class DiscriminatorDriver {
 public:
  DiscriminatorDriver(const ExchangeOptions& options, int64_t last_round,
                      DiscriminatorExchange* exchange);

  absl::StatusOr<bool> Advance(absl::Time deadline);
  int64_t round() const { return round_; }
  int64_t images_trained() const { return images_trained_; }

 private:
  // Serves one request due at a boundary; returns true if none is left.
  absl::StatusOr<bool> ServeBoundary(absl::Time deadline);
  absl::Status Judge(const ImageBatch& images);
  absl::Status JudgeWhatIsThere();
  // With FUSED, answers requests whose images up to `end` were trained on.
  absl::Status JudgeTrained(int64_t end);
  absl::Status Take(const DiscriminatorOp& op, absl::Time deadline);
  // With BOUNDED, a discriminator without images answers feedback.
  absl::Status TakeOrJudge(const DiscriminatorOp& op, absl::Time deadline);

  const ExchangeOptions options_;
  const int64_t last_round_;
  DiscriminatorExchange* const exchange_;
  int64_t round_;
  std::vector<DiscriminatorOp> ops_;
  size_t next_op_ = 0;
  int64_t next_boundary_;             // to publish
  int64_t images_to_judge_ = 0;       // of rounds <= judged_until_
  int64_t judged_until_;              // rounds whose feedback is accounted for
  std::vector<ImageBatch> requests_;  // FUSED: unanswered
  int64_t images_trained_ = 0;
};

// Runs both to the end, each in a thread; one wait lasts at most `poll`.
absl::Status RunBoth(GeneratorDriver& generator,
                     DiscriminatorDriver& discriminator, absl::Duration poll);

}  // namespace gandem::testing
