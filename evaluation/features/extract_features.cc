// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/extract_features.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/child_process.h"
#include "common/process/cores.h"
#include "common/process/exit_code.h"
#include "common/process/failpoint.h"
#include "common/process/machine.h"
#include "common/status.h"
#include "evaluation/images/image_set.h"
#include "models/torch.h"
#include "training/compute/devices.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(20);
constexpr absl::Duration kExtractionProgressInterval = absl::Milliseconds(500);
// Without a new slice; an Inception on a slow core takes a minute for one.
constexpr absl::Duration kStandstill = absl::Minutes(30);
constexpr int kRestarts = 3;
constexpr int kTailLines = 5;

// In chunks of one size whatever the slices are, so that memory is bounded and
// bits do not depend on who computes which slice.
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

// The child processes of one job.
class Workers {
 public:
  Workers(const std::vector<ExtractWork>& work, int count)
      : work_(work), count_(count), cores_(AllowedCores()) {}
  // The folder of a reference is for others, too.
  ~Workers() {
    children_.clear();
    for (const ExtractWork& part : work_) {
      RemoveAll(part.store->job_path()).IgnoreError();
    }
    for (int i = 0; i < count_; ++i) RemoveAll(LogOf(i)).IgnoreError();
  }

  absl::Status Start() {
    GANDEM_ASSIGN_OR_RETURN(const std::string folder, BinaryFolder());
    GANDEM_ASSIGN_OR_RETURN(program_, ProgramCommand(folder, "evaluation_job"));
    for (const ExtractWork& part : work_) {
      GANDEM_RETURN_IF_ERROR(part.store->WriteJob());
    }
    for (int i = 0; i < count_; ++i) {
      GANDEM_RETURN_IF_ERROR(StartOne(i));
    }
    return absl::OkStatus();
  }

  // Reaps, and starts again whoever was killed. True: all are done.
  absl::StatusOr<bool> Poll() {
    bool done = true;
    for (int i = 0; i < count_; ++i) {
      if (children_[i] == nullptr) continue;
      const std::optional<ProcessEnd> end = children_[i]->Poll();
      if (end.has_value()) GANDEM_RETURN_IF_ERROR(OnEnd(i, *end));
      done = done && children_[i] == nullptr;
    }
    return done;
  }

 private:
  std::string LogOf(int index) const {
    return absl::StrCat(work_.front().store->folder(), "/worker-", getpid(),
                        "-", index, ".log");
  }

  // A core each where there are enough, so that workers do not take each
  // other's caches.
  absl::Status StartOne(int index) {
    std::vector<int> cores;
    if (static_cast<int>(cores_.size()) >= count_) cores = {cores_[index]};
    std::vector<std::string> arguments = program_;
    arguments.insert(arguments.end(),
                     {"extract", "--worker", absl::StrCat(index), "--workers",
                      absl::StrCat(count_)});
    for (const ExtractWork& part : work_) {
      arguments.insert(arguments.end(),
                       {"--job", part.store->job_path(), "--num",
                        absl::StrCat(part.num_images)});
    }
    auto child = ChildProcess::Start({.arguments = std::move(arguments),
                                      .log_path = LogOf(index),
                                      .cores = std::move(cores)});
    GANDEM_RETURN_IF_ERROR(child);
    children_.resize(static_cast<size_t>(count_));
    children_[index] = std::make_unique<ChildProcess>(*std::move(child));
    return absl::OkStatus();
  }

  // Only a worker that a signal ended is started again: what failed by itself
  // would fail again, and its last line says why.
  absl::Status OnEnd(int index, const ProcessEnd& end) {
    const auto tail_of = [&](int lines) {
      const std::string text = children_[index]->LogTail(lines);
      return std::string(absl::StripAsciiWhitespace(text));
    };
    const std::string last_line = tail_of(1);
    const std::string tail = tail_of(kTailLines);
    const std::string text =
        absl::StrCat("evaluation worker ", index, " ", end.description,
                     tail.empty() ? "" : ": ", tail);
    children_[index].reset();
    if (end.exit_code == kExitOk) return absl::OkStatus();
    const std::string& why = last_line.empty() ? text : last_line;
    if (end.exit_code == kExitUsage) return absl::InvalidArgumentError(why);
    if (end.exit_code == kExitResumable) {
      return absl::ResourceExhaustedError(why);
    }
    if (end.exit_code <= 128) return absl::InternalError(text);
    if (++restarts_ > kRestarts) {
      return absl::AbortedError(absl::StrCat(
          text, ", for the ", restarts_,
          "th time (too little memory?); what is computed stays, the same "
          "command goes on from there"));
    }
    return StartOne(index);
  }

  const std::vector<ExtractWork>& work_;
  const int count_;
  const std::vector<int> cores_;
  std::vector<std::string> program_;  // evaluation_job
  std::vector<std::unique_ptr<ChildProcess>> children_;
  int restarts_ = 0;
};

int64_t NumPresent(const std::vector<ExtractWork>& work) {
  int64_t present = 0;
  for (const auto& [store, num_images] : work) {
    present += num_images;
    for (const IndexRange slice : store->Missing(num_images)) {
      present -= slice.count;
    }
  }
  return present;
}

// Progress is what lies in the folders, so it counts what earlier jobs have
// left there.
absl::Status ExtractInChildren(const std::vector<ExtractWork>& work,
                               int workers_count,
                               const ExtractOptions& options) {
  Workers workers(work, workers_count);
  GANDEM_RETURN_IF_ERROR(workers.Start());
  int64_t present = -1;
  absl::Time next_look = absl::InfinitePast();
  absl::Time last_change = MonotonicNow();
  while (true) {
    GANDEM_ASSIGN_OR_RETURN(const bool done, workers.Poll());
    if (done) break;
    const absl::Time now = MonotonicNow();
    if (now >= next_look) {
      next_look = now + kExtractionProgressInterval;
      const int64_t now_present = NumPresent(work);
      if (std::exchange(present, now_present) != now_present) last_change = now;
      if (options.progress) options.progress(present);
    }
    if (now - last_change > kStandstill) {
      return absl::AbortedError(
          "the evaluation's workers stand still: the disk or the network that "
          "the images are on? What is computed stays, the same command goes on "
          "from there");
    }
    absl::SleepFor(kPollInterval);
  }
  if (options.progress) options.progress(NumPresent(work));
  return absl::OkStatus();
}

// Opens the network of a job, and keeps it for the next one that wants the
// same.
class NetworkOfJobs {
 public:
  absl::StatusOr<FeatureExtractor*> Open(const FeatureJob& job,
                                         ImageShape shape) {
    FeatureJob network = job;
    network.clear_images();
    network.clear_side();
    if (extractor_ != nullptr && shape == shape_ &&
        network.SerializeAsString() == network_) {
      return extractor_.get();
    }
    ExtractorOptions options = {.image_shape = shape};
    if (!job.input_resize().empty()) {
      GANDEM_ASSIGN_OR_RETURN(options.resize,
                              ParseInputResize(job.input_resize()));
    }
    if (job.has_dims()) options.dims = job.dims();
    GANDEM_ASSIGN_OR_RETURN(options.compute.device, ParseDevice(job.device()));
    GANDEM_ASSIGN_OR_RETURN(options.compute.precision,
                            ParsePrecision(job.precision()));
    GANDEM_ASSIGN_OR_RETURN(extractor_,
                            OpenFeatureExtractor(job.network(), options));
    if (extractor_->net().sha256 != job.network_sha256()) {
      return absl::FailedPreconditionError(absl::StrCat(
          job.network(), " changed while the evaluation ran: start it again"));
    }
    shape_ = shape;
    network_ = network.SerializeAsString();
    return extractor_.get();
  }

 private:
  std::unique_ptr<FeatureExtractor> extractor_;
  ImageShape shape_;
  std::string network_;
};

absl::Status ExtractSlices(const FeatureStore& store,
                           const std::vector<IndexRange>& slices,
                           NetworkOfJobs& network,
                           const std::function<void(IndexRange)>& done) {
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<ImageSet> source,
                          OpenImageSet(store.job().images()));
  GANDEM_ASSIGN_OR_RETURN(FeatureExtractor * extractor,
                          network.Open(store.job(), source->shape()));
  return CatchTorch([&]() -> absl::Status {
    for (const IndexRange slice : slices) {
      // Another job may have computed it meanwhile.
      if (store.Has(slice)) continue;
      GANDEM_ASSIGN_OR_RETURN(const Features features,
                              ExtractSlice(*source, *extractor, slice));
      GANDEM_RETURN_IF_ERROR(store.Write(slice, features));
      GANDEM_FAILPOINT("evaluation.after_slice");
      if (done) done(slice);
    }
    return absl::OkStatus();
  });
}

// Deals slices out: each goes to the worker that has had the fewest images. The
// same for all workers, so that each knows which are its own.
class Dealer {
 public:
  explicit Dealer(int workers) : images_(static_cast<size_t>(workers)) {}

  int WorkerOf(IndexRange slice) {
    const auto least = std::ranges::min_element(images_);
    *least += slice.count;
    return static_cast<int>(least - images_.begin());
  }

 private:
  std::vector<int64_t> images_;  // that each worker has
};

}  // namespace

int DefaultWorkers(int64_t num_images) {
  constexpr int64_t kImagesOfOne = 250;
  // Each holds a network of its own in memory.
  constexpr int64_t kMost = 16;
  const int64_t cores = UsableCores();
  return static_cast<int>(std::clamp(num_images / kImagesOfOne, int64_t{1},
                                     std::min(cores, kMost)));
}

absl::Status ExtractShare(const std::vector<ExtractWork>& work,
                          WorkerShare share,
                          const std::function<void(IndexRange)>& done) {
  at::set_num_threads(1);
  NetworkOfJobs network;
  Dealer dealer(share.size);
  for (const auto& [store, num_images] : work) {
    std::vector<IndexRange> mine;
    for (const IndexRange slice : SlicesOf(num_images)) {
      const bool is_mine = dealer.WorkerOf(slice) == share.index;
      if (is_mine && !store->Has(slice)) mine.push_back(slice);
    }
    if (mine.empty()) continue;
    const absl::Status status = ExtractSlices(*store, mine, network, done);
    const std::string& side = store->job().side();
    if (!status.ok()) return side.empty() ? status : Annotate(status, side);
  }
  return absl::OkStatus();
}

absl::Status ExtractFeatures(const std::vector<ExtractWork>& work,
                             const ExtractOptions& options) {
  int missing = 0;
  for (const auto& [store, num_images] : work) {
    missing += static_cast<int>(store->Missing(num_images).size());
  }
  if (missing == 0) return absl::OkStatus();
  const int workers = std::min(options.workers, missing);
  if (workers > 1) return ExtractInChildren(work, workers, options);
  int64_t present = NumPresent(work);
  return ExtractShare(work, {.index = 0, .size = 1}, [&](IndexRange slice) {
    present += slice.count;
    if (options.progress) options.progress(present);
  });
}

}  // namespace gandem
