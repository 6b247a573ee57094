// SPDX-License-Identifier: Apache-2.0
//
// The fastest precision in which a network's features keep a Frechet distance:
// tried out on some images of both sides, in float32 and in each other one.
//
// The distance of few images is larger than that of many, and so would hide a
// change. A change is therefore judged in relation to what is surely in the
// distance of any number of images, the squared difference of the means less
// what its sampling adds: with mean m, covariance C and n images of each side
//
//   |m_a - m_b|^2 - tr C_a / n_a - tr C_b / n_b
//
// whose expectation is the first term of the distance (frechet_distance.h); the
// second one is not negative.
//
// Owner: values. Thread safety: one compute thread. Errors: Status only.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "evaluation/features/feature_extractor.h"
#include "evaluation/images/image_set.h"
#include "evaluation/metrics/feature_moments.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// Images of a side that are seen, fewer where there are fewer.
inline constexpr int64_t kTrialImages = 256;
// With fewer images on both sides together a trial costs more than it saves.
inline constexpr int64_t kLeastForTrial = 8 * kTrialImages;
// The largest change that is accepted.
inline constexpr double kMostChange = 1e-3;

// What is compared with what.
struct TrialSides {
  ImageSet* images = nullptr;
  int64_t num_images = 0;
  ImageSet* reference = nullptr;        // null: there are
  const Moments* statistics = nullptr;  // of it
};

// What one precision has made of the images of both sides.
struct SeenInPrecision {
  at::ScalarType precision = at::kFloat;
  absl::Duration time = {};  // of work that is the same for all
  at::Tensor images_ND = {};
  at::Tensor reference_ND = {};  // undefined: there are statistics
};

// The first of `seen` is float32, and stays where nothing else is fast and near
// enough; `reason` says why.
//   errors of FrechetDistance.
absl::StatusOr<PrecisionTrial> JudgePrecisions(
    const std::vector<SeenInPrecision>& seen, const Moments* statistics);

// The same of a trial with the network in this file. `options.compute` says the
// device.
//   errors of OpenFeatureExtractor, ImageSet and Extract in float32; what goes
//   wrong in another precision rules that one out.
absl::StatusOr<PrecisionTrial> FastestPrecision(const std::string& network,
                                                const ExtractorOptions& options,
                                                const TrialSides& sides);

// A trial that was kept under `key`, a name, on this kind of machine; else that
// of `run`, which is kept from then on. Empty `folder`: none are kept.
absl::StatusOr<PrecisionTrial> KeptTrial(
    const std::string& folder, const std::string& key,
    absl::FunctionRef<absl::StatusOr<PrecisionTrial>()> run);

}  // namespace gandem
