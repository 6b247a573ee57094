// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a worker's rounds went, in seconds. Computing is what no
// wait explains: it is defined here and nowhere else.
//
// Thread safety: values.
#pragma once

#include "proto/metrics.pb.h"

namespace gandem {

struct RoundTimes {
  double round = 0;  // all of it
  // Waits; they do not overlap.
  double images = 0;
  double feedback = 0;
  double data = 0;
  double cache = 0;
  double sync = 0;  // exposed communication of the fleet
  // Communication that went on while the worker did something else.
  double hidden_sync = 0;

  double compute() const {
    return round - (images + feedback + data + cache + sync);
  }
  // The hidden part of all communication; 0 if there was none.
  double overlap() const {
    return hidden_sync > 0 ? hidden_sync / (hidden_sync + sync) : 0;
  }

  RoundTimes& operator+=(const RoundTimes& other) {
    round += other.round;
    images += other.images;
    feedback += other.feedback;
    data += other.data;
    cache += other.cache;
    sync += other.sync;
    hidden_sync += other.hidden_sync;
    return *this;
  }
};

inline RoundTimes TimesOf(const RoundMetrics& metrics) {
  return {.round = metrics.round_seconds(),
          .images = metrics.wait_images_seconds(),
          .feedback = metrics.wait_feedback_seconds(),
          .data = metrics.wait_data_seconds(),
          .cache = metrics.wait_cache_seconds(),
          .sync = metrics.wait_sync_seconds(),
          .hidden_sync = metrics.hidden_sync_seconds()};
}

}  // namespace gandem
