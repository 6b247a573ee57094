// SPDX-License-Identifier: Apache-2.0
//
// The images that an evaluation judges: which of them, and how large.
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

// Writes the shape of `images`, which are those of `spec`, into it, so that no
// other process has to look at the headers of all files.
void KeepShape(const ImageSet& images, ImagesSpec& spec);

// Opens subject.images, and writes into them what the request changes: the size
// of the reference's images, that some are drawn, or that pairs are.
//   INVALID_ARGUMENT  a size to resize to where the reference has none; more
//                     images, or pairs, than there are, or fewer than two; a
//                     path of what no generator makes.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenSubjectImages(
    const EvaluateRequest& request, const Reference& reference,
    Subject& subject);

// How many of what OpenSubjectImages has opened. INVALID_ARGUMENT as there.
absl::StatusOr<int64_t> NumToJudge(const EvaluateRequest& request,
                                   const Subject& subject,
                                   const ImageSet& images);

// Whether images and reference, which have these cards, have one size.
//   INVALID_ARGUMENT  they have not, and the request leaves no resize to the
//                     network.
absl::Status CheckSizes(const EvaluateRequest& request,
                        const ImagesCard& images, const ImagesCard& reference);

}  // namespace gandem
