// SPDX-License-Identifier: Apache-2.0
//
// Choice and size of the images to evaluate.
//
// Owner: the caller. Thread safety: one compute thread. Errors: Status only.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evaluation/images/image_set.h"
#include "evaluation/judging/evaluate_request.h"
#include "evaluation/judging/evaluation_inputs.h"

namespace gandem {

// Writes the shape of `images`, which `spec` opened, into `spec`, so that
// workers need not read the headers of all files again.
void KeepShape(const ImageSet& images, ImagesSpec& spec);

// Opens subject.images after the request has changed them: a resize to the size
// of the reference's images, a random subset, or pairs.
//   INVALID_ARGUMENT  a resize although the reference has no one size; more
//                     images, or pairs, than there are, or fewer than two;
//                     path lengths without a generator.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenSubjectImages(
    const EvaluateRequest& request, const Reference& reference,
    Subject& subject);

// Number of images, or pairs, to evaluate. Errors of OpenSubjectImages.
absl::StatusOr<int64_t> NumToJudge(const EvaluateRequest& request,
                                   const Subject& subject,
                                   const ImageSet& images);

// Checks that images and reference, with these cards, have one size.
//   INVALID_ARGUMENT  the sizes differ, and the request does not leave resizing
//                     to the network.
absl::Status CheckSizes(const EvaluateRequest& request,
                        const ImagesCard& images, const ImagesCard& reference);

}  // namespace gandem
