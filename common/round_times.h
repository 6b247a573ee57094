// SPDX-License-Identifier: Apache-2.0
//
// Time of a worker's rounds by cause, in seconds. Compute time is the time
// without waits.
//
// Thread safety: values.
#pragma once

#include <algorithm>
#include <array>

#include "proto/metrics.pb.h"

namespace gandem {

struct RoundTimes {
  double round = 0;  // total
  // Waits, which do not overlap.
  double images = 0;
  double feedback = 0;
  double data = 0;
  double cache = 0;
  double sync = 0;  // exposed communication of the fleet
  // Communication that overlaps with other work of the worker.
  double hidden_sync = 0;
  // Parts of `data`: waiting for stored images, decoding, and later transforms.
  double data_fetch = 0;
  double data_decode = 0;
  double data_transform = 0;
  // Processor time for preparing real images that free cores could not provide,
  // so it was taken from training. Part of compute time, not a wait.
  double data_taken = 0;

  double compute() const {
    return round - (images + feedback + data + cache + sync);
  }
  // Returns the largest part of `data`: "fetch", "decode", "transform" or "".
  const char* data_stage() const {
    const double most = std::max({data_fetch, data_decode, data_transform});
    return most <= 0             ? ""
           : most == data_fetch  ? "fetch"
           : most == data_decode ? "decode"
                                 : "transform";
  }
  // Returns the hidden share of all communication; 0 without communication.
  double overlap() const {
    return hidden_sync > 0 ? hidden_sync / (hidden_sync + sync) : 0;
  }

  RoundTimes& operator*=(double factor) {
    for (const auto part : Parts()) this->*part *= factor;
    return *this;
  }
  RoundTimes& operator+=(const RoundTimes& other) {
    for (const auto part : Parts()) this->*part += other.*part;
    return *this;
  }

  static constexpr std::array<double RoundTimes::*, 11> Parts() {
    using Self = RoundTimes;
    return {&Self::round,          &Self::images,     &Self::feedback,
            &Self::data,           &Self::cache,      &Self::sync,
            &Self::hidden_sync,    &Self::data_fetch, &Self::data_decode,
            &Self::data_transform, &Self::data_taken};
  }
};

inline RoundTimes TimesOf(const RoundMetrics& metrics) {
  return {.round = metrics.round_seconds(),
          .images = metrics.wait_images_seconds(),
          .feedback = metrics.wait_feedback_seconds(),
          .data = metrics.wait_data_seconds(),
          .cache = metrics.wait_cache_seconds(),
          .sync = metrics.wait_sync_seconds(),
          .hidden_sync = metrics.hidden_sync_seconds(),
          .data_fetch = metrics.data().fetch_stall_seconds(),
          .data_decode = metrics.data().decode_stall_seconds(),
          .data_transform = metrics.data().transform_stall_seconds(),
          .data_taken = std::max(
              0.0, metrics.data().processor_seconds() -
                       metrics.data().free_cores() * metrics.round_seconds())};
}

}  // namespace gandem
