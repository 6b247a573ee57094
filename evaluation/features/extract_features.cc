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
#include "common/status.h"
#include "evaluation/images/image_set.h"
#include "models/torch.h"
#include "training/compute/parse_device.h"
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

std::string WorkerLog(const FeatureStore& store, int index) {
  return absl::StrCat(store.folder(), "/worker-", getpid(), "-", index, ".log");
}

// The child processes of one job.
class Workers {
 public:
  Workers(const FeatureStore& store, const ExtractOptions& options)
      : store_(store), options_(options), cores_(AllowedCores()) {}
  // The folder of a reference is for others, too.
  ~Workers() {
    children_.clear();
    RemoveAll(store_.job_path()).IgnoreError();
    for (int i = 0; i < options_.workers; ++i) {
      RemoveAll(WorkerLog(store_, i)).IgnoreError();
    }
  }

  absl::Status Start() {
    GANDEM_ASSIGN_OR_RETURN(const std::string folder, BinaryFolder());
    GANDEM_ASSIGN_OR_RETURN(program_, ProgramCommand(folder, "evaluation_job"));
    GANDEM_RETURN_IF_ERROR(store_.WriteJob());
    for (int i = 0; i < options_.workers; ++i) {
      GANDEM_RETURN_IF_ERROR(StartOne(i));
    }
    return absl::OkStatus();
  }

  // Reaps, and starts again whoever was killed. True: all are done.
  absl::StatusOr<bool> Poll() {
    bool done = true;
    for (int i = 0; i < options_.workers; ++i) {
      if (children_[i] == nullptr) continue;
      const std::optional<ProcessEnd> end = children_[i]->Poll();
      if (end.has_value()) GANDEM_RETURN_IF_ERROR(OnEnd(i, *end));
      done = done && children_[i] == nullptr;
    }
    return done;
  }

 private:
  // A core each where there are enough, so that workers do not take each
  // other's caches.
  absl::Status StartOne(int index) {
    std::vector<int> cores;
    if (static_cast<int>(cores_.size()) >= options_.workers) {
      cores = {cores_[index]};
    }
    std::vector<std::string> arguments = program_;
    arguments.insert(
        arguments.end(),
        {"extract", store_.job_path(), "--num",
         absl::StrCat(options_.num_images), "--worker", absl::StrCat(index),
         "--workers", absl::StrCat(options_.workers)});
    auto child = ChildProcess::Start({.arguments = std::move(arguments),
                                      .log_path = WorkerLog(store_, index),
                                      .cores = std::move(cores)});
    GANDEM_RETURN_IF_ERROR(child);
    children_.resize(static_cast<size_t>(options_.workers));
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

  const FeatureStore& store_;
  const ExtractOptions& options_;
  const std::vector<int> cores_;
  std::vector<std::string> program_;  // evaluation_job
  std::vector<std::unique_ptr<ChildProcess>> children_;
  int restarts_ = 0;
};

int64_t NumPresent(const FeatureStore& store, int64_t num_images) {
  int64_t present = num_images;
  for (const IndexRange slice : store.Missing(num_images)) {
    present -= slice.count;
  }
  return present;
}

// Progress is what lies in the folder, so it counts what earlier jobs have left
// there.
absl::Status ExtractInChildren(const FeatureStore& store,
                               const ExtractOptions& options) {
  Workers workers(store, options);
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
      const int64_t now_present = NumPresent(store, options.num_images);
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
  if (options.progress) options.progress(options.num_images);
  return absl::OkStatus();
}

}  // namespace

int DefaultWorkers(int64_t num_images) {
  constexpr int64_t kImagesOfOne = 250;
  // Each holds a network of its own in memory.
  constexpr int64_t kMost = 16;
  const auto cores = static_cast<int64_t>(AllowedCores().size());
  return static_cast<int>(std::clamp(num_images / kImagesOfOne, int64_t{1},
                                     std::min(cores, kMost)));
}

absl::Status ExtractShare(const FeatureStore& store, int64_t num_images,
                          WorkerShare share,
                          const std::function<void(IndexRange)>& done) {
  const std::vector<IndexRange> slices = SlicesOf(num_images);
  std::vector<IndexRange> mine;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (static_cast<int>(i % static_cast<size_t>(share.size)) != share.index) {
      continue;
    }
    if (!store.Has(slices[i])) mine.push_back(slices[i]);
  }
  if (mine.empty()) return absl::OkStatus();
  at::set_num_threads(1);
  const FeatureJob& job = store.job();
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<ImageSet> source,
                          OpenImageSet(job.images()));
  ExtractorOptions opened = {.image_shape = source->shape()};
  if (!job.input_resize().empty()) {
    GANDEM_ASSIGN_OR_RETURN(opened.resize,
                            ParseInputResize(job.input_resize()));
  }
  if (job.has_dims()) opened.dims = job.dims();
  GANDEM_ASSIGN_OR_RETURN(opened.compute.device, ParseDevice(job.device()));
  GANDEM_ASSIGN_OR_RETURN(opened.compute.precision,
                          ParsePrecision(job.precision()));
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<FeatureExtractor> extractor,
                          OpenFeatureExtractor(job.network(), opened));
  if (extractor->net().sha256 != job.network_sha256()) {
    return absl::FailedPreconditionError(absl::StrCat(
        job.network(), " changed while the evaluation ran: start it again"));
  }
  return CatchTorch([&]() -> absl::Status {
    for (const IndexRange slice : mine) {
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

namespace {

absl::Status ExtractMissing(const FeatureStore& store,
                            const ExtractOptions& options) {
  const auto missing =
      static_cast<int>(store.Missing(options.num_images).size());
  if (missing == 0) return absl::OkStatus();
  const int workers = std::min(options.workers, missing);
  if (workers > 1) {
    ExtractOptions capped = options;
    capped.workers = workers;
    return ExtractInChildren(store, capped);
  }
  int64_t present = NumPresent(store, options.num_images);
  return ExtractShare(store, options.num_images, {.index = 0, .size = 1},
                      [&](IndexRange slice) {
                        present += slice.count;
                        if (options.progress) options.progress(present);
                      });
}

}  // namespace

absl::Status ExtractFeatures(const FeatureStore& store,
                             const ExtractOptions& options) {
  const absl::Status done = ExtractMissing(store, options);
  return options.side.empty() ? done : Annotate(done, options.side);
}

}  // namespace gandem
