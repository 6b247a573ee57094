// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/extraction_progress.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gandem {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(2);

}  // namespace

ExtractionProgress::ExtractionProgress(
    int64_t num_images, std::function<void(const std::string&)> say)
    : num_images_(num_images), say_(std::move(say)) {}

void ExtractionProgress::Add(int64_t present, absl::Time now) {
  if (first_ < 0) {
    first_ = present;
    first_time_ = last_said_ = now;
  }
  if (!say_ || (present < num_images_ && now - last_said_ < kInterval)) return;
  last_said_ = now;
  const double seconds = absl::ToDoubleSeconds(now - first_time_);
  const double rate =
      seconds > 0 ? static_cast<double>(present - first_) / seconds : 0;
  std::string line = absl::StrFormat("features: %d/%d images | %.0f images/s",
                                     present, num_images_, rate);
  if (rate > 0 && present < num_images_) {
    const double left = static_cast<double>(num_images_ - present) / rate;
    absl::StrAppend(
        &line, " | ",
        absl::FormatDuration(absl::Ceil(absl::Seconds(left), absl::Seconds(1))),
        " left");
  }
  say_(line);
}

}  // namespace gandem
