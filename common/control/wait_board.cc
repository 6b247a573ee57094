// SPDX-License-Identifier: Apache-2.0
#include "common/control/wait_board.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/control/worker_position.h"

namespace gandem {
namespace {

constexpr absl::Duration kLongWait = absl::Seconds(kLongWaitSeconds);
constexpr int kWaitInRounds = 2;
constexpr absl::Duration kLongOperation = absl::Seconds(60);
constexpr int kOperationInRounds = 10;

}  // namespace

WaitBoard::WaitBoard(int64_t first_round, Clock* clock)
    : clock_(clock), since_(clock->Now()), round_since_(since_) {
  now_.set_round(first_round);
  now_.set_rank(-1);
}

void WaitBoard::Begin(WorkerPosition::Wait what, Role whom) {
  absl::MutexLock lock(&mu_);
  if (now_.wait() != what || now_.whom() != whom) Change(what, whom);
  is_observed_ = false;
}

void WaitBoard::NameRank(int rank) {
  absl::MutexLock lock(&mu_);
  now_.set_rank(rank);
}

void WaitBoard::Observe(Role whom, int rank) {
  absl::MutexLock lock(&mu_);
  if (is_observed_ && rank < 0) Change(WorkerPosition::NOTHING, ROLE_UNKNOWN);
  if (now_.wait() == WorkerPosition::NOTHING && rank >= 0) {
    Change(WorkerPosition::GRADIENTS, whom);
    is_observed_ = true;
  }
  if (now_.wait() == WorkerPosition::GRADIENTS) now_.set_rank(rank);
}

void WaitBoard::End() {
  absl::MutexLock lock(&mu_);
  Change(WorkerPosition::NOTHING, ROLE_UNKNOWN);
}

void WaitBoard::EndRound(int64_t next_round) {
  absl::MutexLock lock(&mu_);
  Change(WorkerPosition::NOTHING, ROLE_UNKNOWN);
  now_.set_round(next_round);
  last_round_ = since_ - round_since_;
  round_since_ = since_;
}

void WaitBoard::Change(WorkerPosition::Wait what, Role whom) {
  const absl::Time now = clock_->Now();
  if (is_said_) {
    over_ = absl::StrFormat("goes on; \"%s\" took %.0f s", ActivityText(now_),
                            absl::ToDoubleSeconds(now - since_));
  }
  is_said_ = false;
  is_observed_ = false;
  since_ = now;
  now_.set_wait(what);
  now_.set_whom(whom);
  now_.set_rank(-1);
}

WorkerPosition WaitBoard::PositionAt(absl::Time now) const {
  WorkerPosition position = now_;
  position.set_seconds(std::max(0.0, absl::ToDoubleSeconds(now - since_)));
  return position;
}

WorkerPosition WaitBoard::Position() const {
  absl::MutexLock lock(&mu_);
  return PositionAt(clock_->Now());
}

absl::Duration WaitBoard::Patience() const {
  const bool is_wait = now_.wait() != WorkerPosition::NOTHING &&
                       now_.wait() != WorkerPosition::MEASURE;
  return is_wait ? std::max(kLongWait, kWaitInRounds * last_round_)
                 : std::max(kLongOperation, kOperationInRounds * last_round_);
}

std::string WaitBoard::Notice() {
  absl::MutexLock lock(&mu_);
  if (!over_.empty()) return std::exchange(over_, "");
  const absl::Time now = clock_->Now();
  if (now < (is_said_ ? say_again_ : since_ + Patience())) return "";
  is_said_ = true;
  say_again_ = now + (now - since_);
  return absl::StrCat(PositionText(PositionAt(now)), ", in round ",
                      now_.round());
}

}  // namespace gandem
