// SPDX-License-Identifier: Apache-2.0
#include "exchange/image_ledger.h"

#include "absl/strings/str_cat.h"
#include "exchange/exchange_options.h"

namespace gandem {

int64_t ImageLedger::OldestAccepted(ImageUse use) const {
  if (!schedule_.IsExact()) {
    // The discriminator runs ahead by reusing images. A slower generator then
    // sends images of old rounds, which still need feedback.
    return first_round_;
  }
  if (use == ImageUse::kFeedback && oldest_unfinished_ > first_round_) {
    // Feedback from earlier critics was given before the current round began.
    // At lag 0 the feedback of a round comes after its training.
    return std::max(first_round_,
                    schedule_.LastRoundJudgedBy(oldest_unfinished_ - 1) + 1);
  }
  return oldest_unfinished_;
}

absl::StatusOr<ImageLedger::Verdict> ImageLedger::Check(
    const ImageBatch& batch) const {
  const IndexRange range = batch.range();
  const auto it = accepted_.find(batch.round);
  if (it != accepted_.end()) {
    const IndexSet& seen = batch.use == ImageUse::kFeedback
                               ? it->second.feedback
                               : it->second.train;
    if (seen.Contains(range)) return Verdict::kRepeat;
    if (seen.Overlaps(range)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "images [", range.first, ", ", range.end(), ") of round ",
          batch.round, " overlap accepted ones but are not a repeat of them"));
    }
  }
  if (batch.round >= first_round_ && batch.round < forgotten_before_) {
    return Verdict::kRepeat;
  }
  const int64_t oldest = OldestAccepted(batch.use);
  if (batch.round < oldest || batch.round > newest_accepted()) {
    return absl::FailedPreconditionError(
        absl::StrCat("images of round ", batch.round,
                     " are not in the accepted window of rounds [", oldest,
                     ", ", newest_accepted(), "]"));
  }
  return Verdict::kNew;
}

void ImageLedger::Record(const ImageBatch& batch) {
  const IndexRange range = batch.range();
  Accepted& accepted = accepted_[batch.round];
  if (IsTrained(batch.use)) accepted.train.Add(range);
  if (IsAnswered(batch.use)) accepted.feedback.Add(range);
}

void ImageLedger::Advance(int64_t round) {
  oldest_unfinished_ = std::max(oldest_unfinished_, round);
  // A generator trails by at most L rounds, and its peers by L more, so no
  // older retransmission can arrive.
  const int64_t forget_before = oldest_unfinished_ - 2 * (schedule_.lag + 1);
  if (forget_before <= forgotten_before_) return;
  forgotten_before_ = forget_before;
  accepted_.erase(accepted_.begin(), accepted_.lower_bound(forget_before));
}

}  // namespace gandem
