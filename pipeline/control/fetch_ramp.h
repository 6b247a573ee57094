// SPDX-License-Identifier: Apache-2.0
//
// How many fetches run at once: as many as are wanted, as long as more of them
// bring more. On a saturated link they only take longer (by Little's law
// rate = fetches / service time), so each increase is a trial: the rate before
// and after it are compared, an increase that brought less than half of
// its part is taken back, and the next trial waits, twice as long each time.
//
// Goes up at once, down slowly and only when far fewer are wanted.
//
// Owner: the controller. Thread safety: one thread. Times are in seconds.
#pragma once

#include <cstdint>

namespace gandem {

class FetchRamp {
 public:
  struct Interval {
    double seconds = 0;
    double wanted = 0;           // fetches at once
    int64_t running = 0;         // at its end
    int64_t ended = 0;           // in it
    double service_seconds = 0;  // that a fetch takes now
    bool silent = false;         // the link: nothing can be learned
  };

  FetchRamp(int first, int most) : fetches_(first), most_(most) {}

  int Update(const Interval& interval);

  int fetches() const { return fetches_; }
  // More fetches do not bring more.
  bool saturated() const { return saturated_; }

 private:
  struct Trial {
    int before = 0;  // fetches
    double rate_before = 0;
    double settling = 0;  // seconds left, in which old fetches end
    double seconds = 0;
    double ended = 0;
    bool all_ran = true;
  };

  void SeeRate(const Interval& interval);
  void Try(const Interval& interval);
  void Judge(const Interval& interval);
  void WatchSaturation(double seconds);
  void GoDown(const Interval& interval);

  int fetches_;
  int most_;
  double rate_ = 0;  // fetches a second, of the last half second or so
  double last_rate_ = 0;
  double newest_rate_ = 0;  // of the last two intervals: where it fell since
  int64_t ended_ = 0;       // of the run
  double low_seconds_ = 0;
  bool trying_ = false;
  Trial trial_;
  bool saturated_ = false;
  double saturated_rate_ = 0;
  double pause_left_ = 0;  // until the next trial
  double pause_ = 0;       // of the last one
};

}  // namespace gandem
