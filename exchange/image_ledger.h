// SPDX-License-Identifier: Apache-2.0
//
// Which generated images may be accepted now, and which are repeats: the window
// of rounds and the memory of accepted ranges (design.md section 6).
//
// Owner: DiscriminatorEnd, under its mutex.
// Thread safety: one thread; values, copy freely.
#pragma once

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "exchange/index_set.h"
#include "exchange/schedule.h"

namespace gandem {

class ImageLedger {
 public:
  enum class Verdict { kNew, kRepeat };

  ImageLedger(const Schedule& schedule, int64_t first_round)
      : schedule_(schedule),
        first_round_(first_round),
        oldest_unfinished_(first_round),
        forgotten_before_(first_round) {}

  // A retransmit is a kRepeat for as long as one can arrive, also after its
  // images were used.
  //   FAILED_PRECONDITION  the round is outside the accepted window.
  //   INVALID_ARGUMENT     a range cut differently than the first time.
  absl::StatusOr<Verdict> Check(const ImageBatch& batch) const;

  // `batch` was accepted: from now on it is a repeat.
  void Record(const ImageBatch& batch);

  // The discriminator has completed all rounds before `round`. Never goes back.
  void Advance(int64_t round);

  int64_t oldest_unfinished() const { return oldest_unfinished_; }
  int64_t newest_accepted() const { return oldest_unfinished_ + schedule_.lag; }

 private:
  struct Accepted {
    IndexSet train;
    IndexSet feedback;
  };

  // The oldest round of which a range that was never seen is acceptable.
  int64_t OldestAccepted(ImageUse use) const;

  Schedule schedule_;
  int64_t first_round_;
  int64_t oldest_unfinished_;
  int64_t forgotten_before_;              // older rounds count as repeats
  std::map<int64_t, Accepted> accepted_;  // by round
};

}  // namespace gandem
