// SPDX-License-Identifier: Apache-2.0
//
// Images of the averaged generator of a checkpoint. Image i is made of the
// noise stream (seed, kSample, 0, i) and of its label or the input that it
// translates (load_generator.h), as in the grids of `gandem sample`.
//
// With spec.path_epsilon element i is two images, of two points of the way
// between two noises (PathNoise) and one label: what a perceptual path length
// compares. Of 512 pixels a side and more, they are averaged down to 256 or a
// little more, as in StyleGAN's code.
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

// How far apart the two noises of a path are; a perceptual path length is per
// unit of it.
inline constexpr double kPathEpsilon = 1e-4;

// How images of `spec` are made.
void SetSampling(const NoiseOptions& noise, const StandingOptions& standing,
                 ImagesSpec::Generated& spec);

// Errors of LoadCheckpoint (load_generator.h), and
//   INVALID_ARGUMENT  the truncation is negative, so small that noise is not
//                     found in reasonable time, or not a number; another
//                     option is out of range; there is no such device or
//                     class; standing statistics without batch norm; a path
//                     of a generator that translates images; a psi of one
//                     that has no mean style; random noise inputs of one that
//                     has none.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenGeneratedImages(
    const ImagesSpec::Generated& spec);

}  // namespace gandem
