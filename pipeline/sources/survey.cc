// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/survey.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "common/process/thread.h"

namespace gandem {
namespace {

constexpr int64_t kProgressEvery = 64;  // images
constexpr size_t kMostRows = 8;         // per list

}  // namespace

Survey SurveyImages(const ImageStore& store, const std::vector<int64_t>& images,
                    int num_threads,
                    const std::function<void(int64_t done)>& progress) {
  Survey survey;
  absl::Mutex mu;
  std::atomic<int64_t> next = 0;
  const auto read_some = [&] {
    for (int64_t at = next++; at < std::ssize(images); at = next++) {
      const absl::StatusOr<DecodedImage> image = store.Read(images[at]);
      const absl::MutexLock lock(&mu);
      ++survey.num_images;
      if (image.ok()) {
        ++survey.kinds[KindText(image->kind)];
        ++survey.sizes[absl::StrCat(image->pixels.height, " x ",
                                    image->pixels.width)];
      } else {
        survey.unreadable.push_back(
            {.index = images[at],
             .reason = std::string(image.status().message()),
             .is_content = IsUnreadable(image.status())});
      }
      if (survey.num_images % kProgressEvery == 0) progress(survey.num_images);
    }
  };
  std::vector<Thread> threads;
  for (int i = 0; i < num_threads; ++i) {
    threads.emplace_back("survey", read_some);
  }
  threads.clear();  // joins
  progress(survey.num_images);
  std::ranges::sort(survey.unreadable, {}, &UnreadableImage::index);
  return survey;
}

std::string CountsText(std::vector<std::pair<std::string, int64_t>> counts) {
  std::ranges::stable_sort(counts, std::greater<>(),
                           &std::pair<std::string, int64_t>::second);
  const size_t shown = std::min(counts.size(), kMostRows);
  std::vector<std::string> parts;
  for (size_t i = 0; i < shown; ++i) {
    parts.push_back(absl::StrCat(counts[i].first, " (", counts[i].second, ")"));
  }
  const size_t others = counts.size() - shown;
  return absl::StrCat(absl::StrJoin(parts, "; "),
                      others > 0 ? absl::StrCat("; ", others, " others") : "");
}

std::string UnusedText(const UnusedFiles& unused) {
  if (unused.empty()) return "";
  return absl::StrCat("not used: ", CountsText({unused.begin(), unused.end()}));
}

}  // namespace gandem
