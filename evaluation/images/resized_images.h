// SPDX-License-Identifier: Apache-2.0
//
// Images of another set in another size, as bytes again. Which kernel does it
// changes what a metric sees (Parmar, Zhang and Zhu 2022, "On aliased
// resizing"), so it has a name that goes into the metric card:
//
//   area      pipeline/resampler.h: mean over the source's area where it
//             shrinks, bilinear where it grows
//   bilinear  between the four nearest pixel centers, without smoothing
//   bicubic   with smoothing where it shrinks, as Pillow's
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "evaluation/images/image_set.h"

namespace gandem {

// INVALID_ARGUMENT  there is no such kernel; lists them.
absl::Status CheckResizeKernel(absl::string_view kernel);

// INVALID_ARGUMENT  there is no such kernel, or the size is below 1.
absl::StatusOr<std::unique_ptr<ImageSet>> ResizeImages(
    std::unique_ptr<ImageSet> inner, const ImagesSpec::Resize& spec);

}  // namespace gandem
