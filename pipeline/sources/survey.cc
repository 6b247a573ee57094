// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/survey.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "common/process/thread.h"

namespace gandem {
namespace {

constexpr int64_t kProgressEvery = 64;  // images
constexpr size_t kMostRows = 8;         // of a list

// What the threads share.
class Surveyor {
 public:
  Surveyor(const ImageStore& store, const std::vector<int64_t>& images,
           const std::function<void(int64_t)>& progress)
      : store_(store), images_(images), progress_(progress) {}

  void Run() ABSL_LOCKS_EXCLUDED(mu_) {
    for (int64_t at = Next(); at >= 0; at = Next()) {
      const int64_t index = images_[at];
      const absl::StatusOr<DecodedImage> image = store_.Read(index);
      Add(index, image);
    }
  }

  Survey Finish() ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::MutexLock lock(&mu_);
    progress_(survey_.num_images);
    std::ranges::sort(survey_.unreadable, {}, &UnreadableImage::index);
    return std::move(survey_);
  }

 private:
  // -1: all are taken.
  int64_t Next() ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::MutexLock lock(&mu_);
    return next_ < std::ssize(images_) ? next_++ : -1;
  }

  void Add(int64_t index, const absl::StatusOr<DecodedImage>& image)
      ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::MutexLock lock(&mu_);
    ++survey_.num_images;
    if (image.ok()) {
      ++survey_.kinds[KindText(image->kind)];
      ++survey_.sizes[absl::StrCat(image->pixels.height, " x ",
                                   image->pixels.width)];
    } else {
      survey_.unreadable.push_back(
          {.index = index,
           .reason = std::string(image.status().message()),
           .is_content = IsUnreadable(image.status())});
    }
    if (survey_.num_images % kProgressEvery == 0) {
      progress_(survey_.num_images);
    }
  }

  // Never change after construction.
  const ImageStore& store_;
  const std::vector<int64_t>& images_;
  const std::function<void(int64_t)>& progress_;

  absl::Mutex mu_;
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  Survey survey_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

Survey SurveyImages(const ImageStore& store, const std::vector<int64_t>& images,
                    int num_threads,
                    const std::function<void(int64_t done)>& progress) {
  Surveyor surveyor(store, images, progress);
  std::vector<Thread> threads;
  for (int i = 0; i < num_threads; ++i) {
    threads.emplace_back("survey", [&surveyor] { surveyor.Run(); });
  }
  threads.clear();  // joins
  return surveyor.Finish();
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

std::vector<int64_t> SpreadPlaces(int64_t size, int64_t count) {
  std::vector<int64_t> places;
  const int64_t some = std::min(size, count);
  for (int64_t i = 0; i < some; ++i) places.push_back(i * size / some);
  return places;
}

}  // namespace gandem
