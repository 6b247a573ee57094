// SPDX-License-Identifier: Apache-2.0
//
// Images of the averaged generator of a checkpoint. Image i is made of the
// noise stream (seed, kSample, 0, i) and of its label or the input to translate
// (load_generator.h), as in the grids of `gandem sample`.
//
// With spec.path_epsilon, element i is two images of one label, from two points
// on the path between two noises (PathNoise), for a perceptual path length.
// Images of 512 pixels a side or more are averaged down to 256 or a little
// more, as in StyleGAN's code.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "evaluation/images/image_set.h"
#include "evaluation/images/sample_noise.h"
#include "evaluation/images/standing_statistics.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// Distance of the two points on a path, as a fraction of the path.
inline constexpr double kPathEpsilon = 1e-4;

// Writes the options of sampling into `spec`.
void SetSampling(const NoiseOptions& noise, const StandingOptions& standing,
                 ImagesSpec::Generated& spec);

// Errors of LoadCheckpoint (load_generator.h), and
//   INVALID_ARGUMENT  the truncation is negative, so small that noise is not
//                     found in reasonable time, or not a number; another
//                     option is out of range; there is no such device or
//                     class; standing statistics without batch norm; paths of
//                     a generator that translates images; a psi without a
//                     mean style; random noise inputs without noise inputs.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenGeneratedImages(
    const ImagesSpec::Generated& spec);

}  // namespace gandem
