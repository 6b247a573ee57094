// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/subject_images.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/images/generated_images.h"
#include "evaluation/judging/compute_metrics.h"

namespace gandem {
namespace {

constexpr int64_t kDefaultGenerated = 50000;

std::string SizeText(const ImagesCard& images) {
  return absl::StrCat(
      images.height() == 0
          ? "of several sizes,"
          : absl::StrCat(images.height(), " x ", images.width()),
      images.channels() == 1 ? " gray" : " RGB");
}

// Resizes images to the size of the reference's images, if they differ.
absl::Status AddResize(const EvaluateRequest& request,
                       const Reference& reference, const ImageShape& from,
                       ImagesSpec& images) {
  if (!reference.images.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        reference.name,
        " holds statistics, which do not tell the size of images: --resize "
        "needs the images themselves as --reference"));
  }
  GANDEM_ASSIGN_OR_RETURN(const auto target, OpenImageSet(*reference.images));
  const ImageShape to = target->shape();
  if (to.height == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the images of ", reference.name,
        " are of several sizes, and --resize needs one to resize to"));
  }
  if (from.height == to.height && from.width == to.width) {
    return absl::OkStatus();
  }
  ImagesSpec::Resize& resize = *images.mutable_resize();
  resize.set_kernel(request.resize);
  resize.set_height(to.height);
  resize.set_width(to.width);
  return absl::OkStatus();
}

// Pairs are random already, so the first `num` of them need no subset.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenPairs(
    const MetricSet& metrics, const EvaluateRequest& request,
    Subject& subject) {
  if (metrics.path_length && !subject.images.has_generated()) {
    return absl::InvalidArgumentError(
        absl::StrCat("ppl measures paths between a generator's images, and ",
                     request.subject.source,
                     " is no generator: name a run or a checkpoint, or use "
                     "--metric lpips"));
  }
  if (metrics.path_length) {
    subject.images.mutable_generated()->set_path_epsilon(kPathEpsilon);
  } else {
    subject.images.set_pairs(true);
  }
  return OpenImageSet(subject.images);
}

}  // namespace

void KeepShape(const ImageSet& images, ImagesSpec& spec) {
  if (!spec.has_files()) return;
  const ImageShape shape = images.shape();
  ImagesSpec::Shape& known = *spec.mutable_files_shape();
  known.set_channels(shape.channels);
  known.set_height(shape.height);
  known.set_width(shape.width);
}

absl::StatusOr<std::unique_ptr<ImageSet>> OpenSubjectImages(
    const EvaluateRequest& request, const Reference& reference,
    Subject& subject) {
  GANDEM_ASSIGN_OR_RETURN(const MetricSet metrics,
                          ParseMetrics(request.metrics));
  if (metrics.takes_pairs()) return OpenPairs(metrics, request, subject);
  GANDEM_ASSIGN_OR_RETURN(auto source, OpenImageSet(subject.images));
  KeepShape(*source, subject.images);
  GANDEM_ASSIGN_OR_RETURN(const int64_t count,
                          NumToJudge(request, subject, *source));
  if (!request.resize.empty() &&
      request.resize != EvaluateRequest::kKeepSizes) {
    GANDEM_RETURN_IF_ERROR(
        AddResize(request, reference, source->shape(), subject.images));
  }
  // The first files may all be of one class.
  if (!subject.images.has_generated() && count < source->size() &&
      !request.first) {
    subject.images.mutable_subset()->set_count(count);
    if (request.say) {
      request.say(absl::StrCat(
          "evaluating ", count, " of ", source->size(),
          " images, drawn at random and the same ones each time (--first takes "
          "the first by name)"));
    }
  }
  return OpenImageSet(subject.images);
}

absl::StatusOr<int64_t> NumToJudge(const EvaluateRequest& request,
                                   const Subject& subject,
                                   const ImageSet& images) {
  const int64_t size = images.size();
  const int64_t most = subject.images.has_generated()
                           ? kDefaultGenerated
                           : EvaluateRequest::kMaxImages;
  const int64_t count = request.num.value_or(std::min(size, most));
  if (count <= size && count >= 2) return count;
  return absl::InvalidArgumentError(
      absl::StrCat(request.subject.source, " holds ", size,
                   subject.images.pairs() ? " pairs" : " images", "; --num ",
                   count, " must be from 2 to that number"));
}

absl::Status CheckSizes(const EvaluateRequest& request,
                        const ImagesCard& images, const ImagesCard& reference) {
  if (request.resize == EvaluateRequest::kKeepSizes || images.height() == 0 ||
      reference.height() == 0 || SizeText(images) == SizeText(reference)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the images are ", SizeText(images), ", those of the reference ",
      reference.name(), " are ", SizeText(reference),
      ": sizes and channels must agree. --resize brings images to the size "
      "of the reference; with --resize none they keep theirs until the "
      "network resizes them, as pytorch-fid and torch-fidelity do"));
}

}  // namespace gandem
