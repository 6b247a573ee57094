// SPDX-License-Identifier: Apache-2.0
//
// Reports progress: "features: 512/60000 images | 83 images/s | 11m57s left".
//
// Owner: an evaluation. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"

namespace gandem {

class ExtractionProgress {
 public:
  ExtractionProgress(int64_t num_images,
                     std::function<void(const std::string&)> say);

  // `present` images have features at `now`, including those of earlier jobs.
  void Add(int64_t present, absl::Time now);

 private:
  const int64_t num_images_;
  const std::function<void(const std::string&)> say_;
  // `present` of the first call: features of earlier jobs do not count for the
  // speed.
  int64_t first_ = -1;
  absl::Time first_time_;
  absl::Time last_said_;
};

}  // namespace gandem
