// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/memory_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "common/process/ring_limits.h"
#include "common/status.h"

namespace gandem {
namespace {

struct Peak {
  double size = 0;  // of a pass: its images, or its bytes
  double bytes = 0;
  double resting = 0;
  int threads = 0;
};

// Returns the images of a step that are in memory at once: all images of a
// generator, which keeps their graphs until the feedback, or one micro-batch.
int64_t ImagesHeld(Role role, int64_t step, int64_t micro_batch) {
  if (role != DISCRIMINATOR || micro_batch <= 0) return step;
  return std::min(step, micro_batch);
}

// Returns the bytes per additional thread, from peaks of equal passes; >= 0.
double BytesPerThread(const std::vector<Peak>& peaks) {
  double covariance = 0, variance = 0;
  for (const Peak& some : peaks) {
    for (const Peak& more : peaks) {
      if (more.size != some.size || more.threads <= some.threads) continue;
      const double threads = more.threads - some.threads;
      covariance += threads * (more.bytes - some.bytes);
      variance += threads * threads;
    }
  }
  return variance > 0 ? std::max(0.0, covariance / variance) : 0;
}

Peak PeakOf(const Probe& probe) {
  const ProbeSettings& probed = probe.settings();
  const int64_t resting = probe.has_device_memory()
                              ? probe.device_memory().resting_bytes()
                              : probe.resting_bytes();
  return {.size = static_cast<double>(ImagesHeld(
              probed.role(), probed.batch_size(), probed.micro_batch())),
          .bytes = static_cast<double>(LimitedPeakBytes(probe)),
          .resting = static_cast<double>(resting),
          .threads = probed.threads()};
}

// Returns the peaks, scaled to the threads of `settings`.
std::vector<Peak> PeaksOf(const Profile& profile, const RoleSettings& settings,
                          bool same_feedback) {
  RoleSettings any_threads = settings;
  any_threads.threads = 0;
  std::vector<Peak> peaks;
  for (const Probe* const probe : ProbesOf(profile, any_threads)) {
    const Peak peak = PeakOf(*probe);
    if (peak.bytes == 0) continue;
    if (same_feedback == (probe->settings().feedback() == settings.feedback)) {
      peaks.push_back(peak);
    }
  }
  if (settings.threads == 0) return peaks;
  const double bytes_per_thread = BytesPerThread(peaks);
  for (Peak& peak : peaks) {
    peak.bytes += (settings.threads - peak.threads) * bytes_per_thread;
  }
  return peaks;
}

bool HasSeveralSizes(const std::vector<Peak>& peaks) {
  return std::ranges::any_of(
      peaks, [&](const Peak& peak) { return peak.size != peaks.front().size; });
}

struct Mean {
  double size = 0;
  double bytes = 0;
};

Mean MeanOf(const std::vector<Peak>& peaks) {
  Mean mean;
  for (const Peak& peak : peaks) {
    mean.size += peak.size / static_cast<double>(peaks.size());
    mean.bytes += peak.bytes / static_cast<double>(peaks.size());
  }
  return mean;
}

// Returns the slope of the least-squares line through several sizes.
double SlopeOf(const std::vector<Peak>& peaks, const Mean& mean) {
  double covariance = 0, variance = 0;
  for (const Peak& peak : peaks) {
    covariance += (peak.size - mean.size) * (peak.bytes - mean.bytes);
    variance += (peak.size - mean.size) * (peak.size - mean.size);
  }
  return covariance / variance;
}

// Returns the least-squares line, or the line through the resting memory if all
// peaks have one size. Requires at least one peak.
MemoryLine LineThrough(const std::vector<Peak>& peaks) {
  const Mean mean = MeanOf(peaks);
  const double resting = std::ranges::max(peaks, {}, &Peak::resting).resting;
  // More images never take less memory.
  const double slope = std::max(0.0, HasSeveralSizes(peaks)
                                         ? SlopeOf(peaks, mean)
                                         : (mean.bytes - resting) / mean.size);
  const Peak& least = *std::ranges::min_element(peaks, {}, &Peak::size);
  return {.fixed_bytes = mean.bytes - slope * mean.size,
          .bytes_per_image = slope,
          .least_bytes = least.bytes,
          .most_images = std::ranges::max(peaks, {}, &Peak::size).size,
          .beyond_per_image = slope};
}

// Shifts `line` so that it has `bytes` at `images`.
MemoryLine ShiftedTo(double bytes, double images, MemoryLine line) {
  const double more = bytes - line.At(images);
  line.fixed_bytes += more;
  line.least_bytes += more;
  return line;
}

// Returns whether both use the kernels of the same precision and layout.
bool ComputesAlike(const RoleSettings& a, const RoleSettings& b) {
  return a.precision == b.precision && a.layout == b.layout;
}

// Returns the bytes of the buffers for sums, one for each bucket.
int64_t BucketBytes(const RoleShape& role) {
  if (role.size() < 2) return 0;
  if (role.sums.averages_state) {
    return role.network_bytes() + role.state.optimizer_bytes();
  }
  return std::llround(static_cast<double>(role.state.parameter_bytes()) *
                      role.sums.wire_factor);
}

// Returns the shared memory of the ranks of one host: the chunks that a rank
// writes for another rank, and reads from another rank.
int64_t SharedMemoryBytes(const RunShape& shape, const RoleShape& role) {
  if (std::ranges::max(shape.RanksByHost(role)) < 2) return 0;
  const auto chunks = static_cast<int64_t>(MostChunksUnderWay(role.size()));
  return std::min(BucketBytes(role), 2 * chunks * kRingChunkBytes);
}

}  // namespace

double MemoryLine::At(double images) const {
  const double beyond = std::max(0.0, images - most_images) *
                        std::max(0.0, beyond_per_image - bytes_per_image);
  return std::max(least_bytes, fixed_bytes + bytes_per_image * images + beyond);
}

absl::StatusOr<MemoryLine> FitMemory(const Profile& profile,
                                     const RoleSettings& settings) {
  std::vector<Peak> peaks = PeaksOf(profile, settings, /*same_feedback=*/true);
  if (peaks.empty()) {
    peaks = PeaksOf(profile, settings, /*same_feedback=*/false);
  }
  if (peaks.empty()) {
    return absl::NotFoundError(
        absl::StrCat("the profile has no peak of memory of the ",
                     RoleName(settings.role), " with ", SettingsText(settings),
                     "; measure it with `gandem profile`"));
  }
  MemoryLine line = LineThrough(peaks);
  for (const RoleSettings& other : OthersOf(profile, settings)) {
    if (!ComputesAlike(other, settings)) continue;
    const std::vector<Peak> others =
        PeaksOf(profile, other, /*same_feedback=*/true);
    if (!HasSeveralSizes(others)) continue;
    const MemoryLine its = LineThrough(others);
    if (!HasSeveralSizes(peaks)) {
      return ShiftedTo(line.At(peaks.front().size), peaks.front().size, its);
    }
    // With small batches, the peak may not come from activations.
    if (its.most_images > line.most_images) {
      line.beyond_per_image =
          std::max(line.beyond_per_image, its.bytes_per_image);
    }
  }
  return line;
}

int64_t PlannedBytes(const RunShape& shape, Role role) {
  // On a GPU, everything else waits in host memory.
  if (shape.role(role).on_gpu) return BucketBytes(shape.role(role));
  const Schedule& schedule = shape.schedule;
  const int64_t round = shape.RoundImages(role);
  const int64_t critic = shape.discriminator.network_bytes();
  const int64_t lag = schedule.lag;
  const bool sends_critics = !schedule.AnswersImages();
  int64_t bytes = BucketBytes(shape.role(role)) +
                  SharedMemoryBytes(shape, shape.role(role));
  if (role == GENERATOR) {
    // Images sent without acknowledgment, and received answers.
    bytes += round * shape.image_bytes;
    if (schedule.AnswersImages()) bytes += round * shape.feedback_bytes;
    // The critic in use, the received critic, and critics ahead of time.
    if (sends_critics) bytes += (1 + std::max<int64_t>(1, lag)) * critic;
    return bytes;
  }
  // This rank's share of the images that the lag allows, up to the cache limit.
  bytes += std::min(shape.cache_images, (lag + 1) * round) * shape.image_bytes;
  if (sends_critics) {
    // The critic in the slot, and critics of a checkpoint for lags above 1.
    bytes += (1 + (lag >= 2 ? lag : 0)) * critic;
  } else {
    bytes += ImagesJudgedBy(schedule, 0, shape.discriminator.size()) *
             shape.feedback_bytes;
  }
  return bytes;
}

namespace {

// Returns the images of a worker's pass that are in memory at once.
int64_t HeldInRun(const RunShape& shape, Role role) {
  const Schedule& schedule = shape.schedule;
  const int ranks = shape.role(role).size();
  if (role == GENERATOR) {
    return ImagesHeld(role,
                      RankImages(schedule.generator_batch,
                                 schedule.generator_batches, 0, ranks),
                      schedule.generator_micro_batch);
  }
  // Batches are processed one after the other.
  return ImagesHeld(role,
                    RankSlices(schedule.discriminator_batch,
                               schedule.discriminator_batches, 0, ranks)
                        .front()
                        .count,
                    schedule.discriminator_micro_batch);
}

int64_t AtImages(const MemoryLine& line, int64_t images) {
  return std::llround(line.At(static_cast<double>(images)));
}

// Returns the memory of the program without networks, which both roles need.
double ProgramBytes(const MemoryLine& line, const StateSize& state) {
  return std::max(
      0.0, line.fixed_bytes - static_cast<double>(state.parameter_bytes() +
                                                  state.buffer_bytes() +
                                                  state.optimizer_bytes()));
}

// Memory of both roles, with the program counted once.
struct SumOfRoles {
  int64_t bytes = 0;
  // Bytes of the smaller of the two passes.
  double smaller_pass = 0;
};

absl::StatusOr<SumOfRoles> SumUp(const Profile& profile,
                                 const RunShape& shape) {
  GANDEM_ASSIGN_OR_RETURN(const MemoryLine generator,
                          FitMemory(profile, shape.generator.settings));
  GANDEM_ASSIGN_OR_RETURN(const MemoryLine discriminator,
                          FitMemory(profile, shape.discriminator.settings));
  const double program =
      std::min(ProgramBytes(generator, shape.generator.state),
               ProgramBytes(discriminator, shape.discriminator.state));
  const int64_t generator_bytes =
      AtImages(generator, HeldInRun(shape, GENERATOR));
  const int64_t discriminator_bytes =
      AtImages(discriminator, HeldInRun(shape, DISCRIMINATOR));
  return SumOfRoles{
      .bytes = generator_bytes + discriminator_bytes - std::llround(program) +
               PlannedBytes(shape, GENERATOR) +
               PlannedBytes(shape, DISCRIMINATOR),
      .smaller_pass =
          std::min(static_cast<double>(generator_bytes) - generator.fixed_bytes,
                   static_cast<double>(discriminator_bytes) -
                       discriminator.fixed_bytes)};
}

// Changes `shape` to the run of a COLOCATED probe (profiler/probe_list.h).
RunShape AsProbed(RunShape shape, const ProbeSettings& probed) {
  Schedule& schedule = shape.schedule;
  schedule.lag = 1;
  schedule.discriminator_steps_per_round = 1;
  schedule.feedback = static_cast<FeedbackMode>(probed.feedback());
  schedule.generator_batch = probed.batch_size();
  schedule.generator_batches = 1;
  schedule.discriminator_batch = probed.batch_size();
  schedule.discriminator_batches = 1;
  schedule.generator_micro_batch = probed.micro_batch();
  schedule.discriminator_micro_batch = probed.micro_batch();
  shape.cache_images = 2 * probed.batch_size();
  shape.generator.settings.feedback = probed.feedback();
  shape.discriminator.settings.feedback = probed.feedback();
  return shape;
}

}  // namespace

absl::StatusOr<int64_t> PeakBytes(const Profile& profile, const RunShape& shape,
                                  Role role) {
  GANDEM_ASSIGN_OR_RETURN(const MemoryLine line,
                          FitMemory(profile, shape.role(role).settings));
  return AtImages(line, HeldInRun(shape, role)) + PlannedBytes(shape, role);
}

absl::StatusOr<int64_t> ColocatedPeakBytes(const Profile& profile,
                                           const RunShape& shape) {
  GANDEM_ASSIGN_OR_RETURN(const SumOfRoles sum, SumUp(profile, shape));
  RoleSettings settings = shape.discriminator.settings;
  settings.role = COLOCATED;
  if (!ComputesAlike(shape.generator.settings, settings)) return sum.bytes;
  // Correct the sum by the difference between measured colocated processes and
  // their sums. Probes of the same mode come first.
  for (const bool same_feedback : {true, false}) {
    std::vector<Peak> differences;
    for (const Probe* const probe : ProbesOf(profile, settings)) {
      const ProbeSettings& probed = probe->settings();
      const int64_t measured = LimitedPeakBytes(*probe);
      if (measured == 0 ||
          same_feedback != (probed.feedback() == settings.feedback)) {
        continue;
      }
      GANDEM_ASSIGN_OR_RETURN(const SumOfRoles there,
                              SumUp(profile, AsProbed(shape, probed)));
      differences.push_back(
          {.size = there.smaller_pass,
           .bytes = static_cast<double>(measured - there.bytes)});
    }
    if (differences.empty()) continue;
    const Mean mean = MeanOf(differences);
    // One role's step can reuse memory that the other role's step has freed, at
    // most all of the memory that the step needs.
    const double slope = same_feedback && HasSeveralSizes(differences)
                             ? std::clamp(SlopeOf(differences, mean), -1.0, 0.0)
                             : 0;
    return sum.bytes +
           std::llround(mean.bytes + slope * (sum.smaller_pass - mean.size));
  }
  return sum.bytes;
}

}  // namespace gandem
