// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/extract_features.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/process/failpoint.h"
#include "common/process/machine.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "evaluation/images/image_set.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

constexpr absl::Duration kExtractionProgressInterval = absl::Milliseconds(500);

// Chunks of one size in every slice bound the memory, and keep the bits
// independent of the worker that computes the slice.
absl::StatusOr<Features> ExtractSlice(ImageSet& source,
                                      FeatureExtractor& extractor,
                                      IndexRange slice) {
  Features all;
  std::vector<at::Tensor> features;
  std::vector<at::Tensor> logits;
  for (int64_t first = slice.first; first < slice.end(); first += kChunkRows) {
    GANDEM_ASSIGN_OR_RETURN(
        const std::vector<at::Tensor> images,
        source.ReadEach({.first = first,
                         .count = std::min(kChunkRows, slice.end() - first)}));
    GANDEM_ASSIGN_OR_RETURN(const Features part,
                            extractor.ExtractEach(images, [&](int64_t place) {
                              return source.NameOf(first + place);
                            }));
    features.push_back(part.features_ND);
    if (part.logits_NK.defined()) logits.push_back(part.logits_NK);
  }
  all.features_ND = at::cat(features);
  if (!logits.empty()) all.logits_NK = at::cat(logits);
  return all;
}

struct Slice {
  const ExtractWork* work = nullptr;
  IndexRange range = {};
};

// Queue of the missing slices, shared by all worker threads.
class SliceQueue {
 public:
  explicit SliceQueue(const std::vector<ExtractWork>& work) {
    for (const ExtractWork& part : work) {
      present_ += part.num_images;
      for (const IndexRange range : part.store->Missing(part.num_images)) {
        slices_.push_back({.work = &part, .range = range});
        present_ -= range.count;
      }
    }
  }

  int size() const { return static_cast<int>(slices_.size()); }

  // Returns the next slice; null if none is left or a thread has failed.
  const Slice* Take() {
    const absl::MutexLock lock(&mu_);
    if (!failure_.ok() || next_ == slices_.size()) return nullptr;
    return &slices_[next_++];
  }
  void Done(const Slice& slice) {
    const absl::MutexLock lock(&mu_);
    present_ += slice.range.count;
  }
  void Leave(const absl::Status& status) {
    const absl::MutexLock lock(&mu_);
    failure_.Update(status);
    ++left_;
  }

  // Waits until `threads` threads have left. Returns the first failure.
  absl::Status Wait(int threads, const ExtractOptions& options) {
    const auto all_left = [this, threads]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return left_ == threads;
    };
    bool done = false;
    while (!done) {
      int64_t present = 0;
      {
        const absl::MutexLock lock(&mu_);
        done = mu_.AwaitWithTimeout(absl::Condition(&all_left),
                                    kExtractionProgressInterval);
        present = present_;
      }
      if (options.progress) options.progress(present);
    }
    const absl::MutexLock lock(&mu_);
    return failure_;
  }

 private:
  // Never changes after construction.
  std::vector<Slice> slices_;

  absl::Mutex mu_;
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t present_ ABSL_GUARDED_BY(mu_) = 0;  // images with features
  int left_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

// One thread with its own images and network.
class SliceWorker {
 public:
  SliceWorker(const ExtractOptions& options, SliceQueue& queue)
      : options_(options), queue_(queue) {}

  absl::Status Run() {
    at::set_num_threads(1);
    for (const Slice* slice = queue_.Take(); slice != nullptr;
         slice = queue_.Take()) {
      const absl::Status status = CatchTorch([&] { return Compute(*slice); });
      if (!status.ok()) return Annotate(status, slice->work->side);
      queue_.Done(*slice);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Compute(const Slice& slice) {
    const FeatureStore& store = *slice.work->store;
    // Another job may have computed the slice meanwhile.
    if (store.Has(slice.range)) return absl::OkStatus();
    if (opened_ != slice.work) GANDEM_RETURN_IF_ERROR(Open(*slice.work));
    GANDEM_ASSIGN_OR_RETURN(const Features features,
                            ExtractSlice(*source_, *extractor_, slice.range));
    GANDEM_RETURN_IF_ERROR(store.Write(slice.range, features));
    GANDEM_FAILPOINT("evaluation.after_slice");
    return absl::OkStatus();
  }

  // Both sides share one network, unless their images' sizes differ.
  absl::Status Open(const ExtractWork& work) {
    GANDEM_ASSIGN_OR_RETURN(source_, OpenImageSet(work.images));
    opened_ = &work;
    if (extractor_ != nullptr && source_->shape() == shape_) {
      return absl::OkStatus();
    }
    shape_ = source_->shape();
    ExtractorOptions options = options_.extractor;
    options.image_shape = shape_;
    GANDEM_ASSIGN_OR_RETURN(extractor_,
                            OpenFeatureExtractor(options_.network, options));
    if (extractor_->net().sha256 == options_.network_sha256) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        options_.network, " changed while the evaluation ran: start it again"));
  }

  const ExtractOptions& options_;
  SliceQueue& queue_;
  const ExtractWork* opened_ = nullptr;  // source_ holds its images
  std::unique_ptr<ImageSet> source_;
  std::unique_ptr<FeatureExtractor> extractor_;
  ImageShape shape_;
};

}  // namespace

int DefaultWorkers(int64_t num_images) {
  constexpr int64_t kImagesOfOne = 250;
  // Each worker has its own network in memory.
  constexpr int64_t kMost = 16;
  const int64_t cores = UsableCores();
  return static_cast<int>(std::clamp(num_images / kImagesOfOne, int64_t{1},
                                     std::min(cores, kMost)));
}

absl::Status ExtractFeatures(const std::vector<ExtractWork>& work,
                             const ExtractOptions& options) {
  SliceQueue queue(work);
  if (queue.size() == 0) return absl::OkStatus();
  const int workers = std::min(options.workers, queue.size());
  std::vector<Thread> threads;
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back(absl::StrCat("features-", i), [&options, &queue] {
      queue.Leave(SliceWorker(options, queue).Run());
    });
  }
  return queue.Wait(workers, options);
}

}  // namespace gandem
