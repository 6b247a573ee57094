// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/choose_precision.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/monotonic_time.h"
#include "common/process/machine.h"
#include "common/status.h"
#include "evaluation/judging/evaluation_reference.h"
#include "evaluation/metrics/frechet_distance.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

// A side is seen in so many pieces, spread over it: files may be in order of
// their classes.
constexpr int64_t kPieces = 16;
// What takes so many times as long as float32 at its first piece, in which a
// library may also prepare its code, ends there.
constexpr double kHopeless = 4;
// Others are not worth a number that nobody else has.
constexpr double kLeastSpeed = 1.1;

// Both sides in one precision, while they are seen.
struct Trial {
  at::ScalarType precision;
  std::unique_ptr<FeatureExtractor> extractor;
  std::vector<at::Tensor> images = {};
  std::vector<at::Tensor> reference = {};
  absl::Duration time = {};   // of all pieces but the first
  absl::Duration first = {};  // piece's time
};

absl::Status See(const std::vector<at::Tensor>& piece, Trial& trial,
                 std::vector<at::Tensor>& features) {
  const absl::Time start = MonotonicNow();
  GANDEM_ASSIGN_OR_RETURN(const Features seen,
                          trial.extractor->ExtractEach(piece));
  const absl::Duration time = MonotonicNow() - start;
  (trial.first == absl::ZeroDuration() ? trial.first : trial.time) += time;
  features.push_back(seen.features_ND);
  return absl::OkStatus();
}

// `of`: which side of a trial. Float32 is the first of them; others that fail,
// or are hopeless, end there.
absl::Status SeeAll(ImageSet& images, int64_t num_images,
                    std::vector<at::Tensor> Trial::*of,
                    std::vector<Trial>& trials) {
  const int64_t seen = std::min(kTrialImages, num_images);
  const int64_t pieces = std::min(kPieces, seen);
  const int64_t size = seen / pieces;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t first =
        pieces == 1 ? 0 : i * (num_images - size) / (pieces - 1);
    GANDEM_ASSIGN_OR_RETURN(const std::vector<at::Tensor> piece,
                            images.ReadEach({.first = first, .count = size}));
    GANDEM_RETURN_IF_ERROR(See(piece, trials.front(), trials.front().*of));
    std::erase_if(trials, [&](Trial& trial) {
      if (trial.precision == at::kFloat) return false;
      return !See(piece, trial, trial.*of).ok() ||
             trial.first > kHopeless * trials.front().first;
    });
  }
  return absl::OkStatus();
}

struct SeenSides {
  Moments images;
  Moments reference;
};

absl::StatusOr<SeenSides> MomentsOfTrial(const SeenInPrecision& seen,
                                         const Moments* statistics) {
  SeenSides sides;
  GANDEM_ASSIGN_OR_RETURN(sides.images, MomentsOf(seen.images_ND));
  if (statistics != nullptr) {
    sides.reference = *statistics;
    return sides;
  }
  GANDEM_ASSIGN_OR_RETURN(sides.reference, MomentsOf(seen.reference_ND));
  return sides;
}

// What the number of a side's images adds to the means' distance.
double SamplingOf(const Moments& side) {
  if (side.count == 0) return 0;  // a file that does not say
  return side.covariance_DD.trace().item<double>() /
         static_cast<double>(side.count);
}

double SurePart(const SeenSides& sides) {
  return (sides.images.mean_D - sides.reference.mean_D)
             .square()
             .sum()
             .item<double>() -
         SamplingOf(sides.images) - SamplingOf(sides.reference);
}

PrecisionTrial Float32Because(const std::string& reason, int64_t num_images) {
  PrecisionTrial result;
  result.set_precision(PrecisionText(at::kFloat));
  result.set_speed(1);
  result.set_num_images(num_images);
  result.set_reason(reason);
  return result;
}

}  // namespace

absl::StatusOr<PrecisionTrial> JudgePrecisions(
    const std::vector<SeenInPrecision>& seen, const Moments* statistics) {
  const SeenInPrecision& exact = seen.front();
  GANDEM_ASSIGN_OR_RETURN(const SeenSides sides,
                          MomentsOfTrial(exact, statistics));
  GANDEM_ASSIGN_OR_RETURN(const double distance,
                          FrechetDistance(sides.images, sides.reference));
  const int64_t num_images = sides.images.count;
  const double sure = SurePart(sides);
  if (sure <= 0) {
    return Float32Because(
        "so few images of both sides are too alike to show a change",
        num_images);
  }
  std::optional<PrecisionTrial> best;
  double nearest = HUGE_VAL;
  for (const SeenInPrecision& other : seen) {
    const double speed = absl::FDivDuration(exact.time, other.time);
    if (other.precision == at::kFloat || speed < kLeastSpeed) continue;
    GANDEM_ASSIGN_OR_RETURN(const SeenSides changed,
                            MomentsOfTrial(other, statistics));
    GANDEM_ASSIGN_OR_RETURN(const double changed_distance,
                            FrechetDistance(changed.images, changed.reference));
    const double change = std::abs(changed_distance - distance) / sure;
    nearest = std::min(nearest, change);
    if (change > kMostChange || (best.has_value() && speed <= best->speed())) {
      continue;
    }
    best.emplace();
    best->set_precision(PrecisionText(other.precision));
    best->set_speed(speed);
    best->set_change(change);
    best->set_num_images(num_images);
  }
  if (best.has_value()) return *best;
  return Float32Because(
      nearest == HUGE_VAL
          ? "no other precision is faster here"
          : absl::StrFormat("what is faster changed the distance by %.2g of it",
                            nearest),
      num_images);
}

absl::StatusOr<PrecisionTrial> FastestPrecision(const std::string& network,
                                                const ExtractorOptions& options,
                                                const TrialSides& sides) {
  const int64_t num_reference =
      sides.reference == nullptr ? 0 : sides.reference->size();
  if (sides.num_images + num_reference < kLeastForTrial) {
    return Float32Because(absl::StrCat("for fewer than ", kLeastForTrial,
                                       " images it is not worth a trial"),
                          0);
  }
  std::vector<Trial> trials;
  for (const at::ScalarType precision :
       {at::kFloat, at::kBFloat16, at::kHalf}) {
    ExtractorOptions opened = options;
    opened.compute.precision = precision;
    GANDEM_ASSIGN_OR_RETURN(auto extractor,
                            OpenFeatureExtractor(network, opened));
    trials.push_back(
        {.precision = precision, .extractor = std::move(extractor)});
  }
  return CatchTorchOr([&]() -> absl::StatusOr<PrecisionTrial> {
    GANDEM_RETURN_IF_ERROR(
        SeeAll(*sides.images, sides.num_images, &Trial::images, trials));
    if (sides.reference != nullptr) {
      GANDEM_RETURN_IF_ERROR(
          SeeAll(*sides.reference, num_reference, &Trial::reference, trials));
    }
    std::vector<SeenInPrecision> seen;
    for (const Trial& trial : trials) {
      seen.push_back({.precision = trial.precision,
                      .time = trial.time,
                      .images_ND = at::cat(trial.images)});
      if (sides.reference == nullptr) continue;
      seen.back().reference_ND = at::cat(trial.reference);
    }
    return JudgePrecisions(seen, sides.statistics);
  });
}

absl::StatusOr<PrecisionTrial> KeptTrial(
    const std::string& folder, const std::string& key,
    absl::FunctionRef<absl::StatusOr<PrecisionTrial>()> run) {
  if (folder.empty()) return run();
  std::string machine;
  for (const std::string& line : MachineKind(/*with_gpus=*/true)) {
    absl::StrAppend(&machine, line, "\n");
  }
  const std::string path =
      absl::StrCat(folder, "/", key, "-", ShortKey(machine), ".textproto");
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxTextProtoBytes);
  PrecisionTrial kept;
  if (text.ok() && ParseTextProto(*text, path, kept).ok() &&
      ParsePrecision(kept.precision()).ok()) {
    return kept;
  }
  GANDEM_ASSIGN_OR_RETURN(const PrecisionTrial made, run());
  GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
  const std::string temporary = TemporaryName(path);
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(temporary, made.Utf8DebugString()));
  GANDEM_RETURN_IF_ERROR(RenameDurably(temporary, path));
  return made;
}

}  // namespace gandem
