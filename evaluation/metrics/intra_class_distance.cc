// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/intra_class_distance.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "evaluation/metrics/check_features.h"
#include "evaluation/metrics/feature_moments.h"
#include "evaluation/metrics/frechet_distance.h"
#include "models/torch.h"

namespace gandem {
namespace {

absl::Status CheckLabels(absl::string_view what, const at::Tensor& labels_N,
                         const at::Tensor& features_ND, int64_t num_classes) {
  if (!labels_N.defined() || labels_N.scalar_type() != at::kLong ||
      labels_N.sizes() != at::IntArrayRef({features_ND.size(0)})) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " features need one int64 label a row, that is ",
                     features_ND.size(0)));
  }
  const at::Tensor wrong_N = (labels_N < 0).logical_or(labels_N >= num_classes);
  if (wrong_N.any().item<bool>()) {
    const auto row = wrong_N.to(at::kByte).argmax().item<int64_t>();
    return absl::InvalidArgumentError(
        absl::StrCat(what, " label ", labels_N[row].item<int64_t>(), " of row ",
                     row, " is not in [0, ", num_classes - 1, "]"));
  }
  return absl::OkStatus();
}

// A covariance of one row is none, and a class without images would make the
// mean over classes another figure.
absl::StatusOr<Moments> MomentsOfClass(absl::string_view what,
                                       const at::Tensor& features_ND,
                                       const at::Tensor& labels_N,
                                       int64_t label) {
  const at::Tensor rows = (labels_N == label).nonzero().squeeze(1);
  if (rows.numel() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("class ", label, " has ", rows.numel(), " ", what,
                     " images, it needs 2 or more"));
  }
  return MomentsOfRows(features_ND, rows);
}

}  // namespace

absl::StatusOr<IntraClassDistance> ComputeIntraClassDistance(
    const at::Tensor& reference_ND, const at::Tensor& reference_labels_N,
    const at::Tensor& generated_MD, const at::Tensor& generated_labels_M,
    int64_t num_classes) {
  if (num_classes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_classes ", num_classes, " is not 1 or more"));
  }
  GANDEM_RETURN_IF_ERROR(CheckFeaturePair(reference_ND, generated_MD, 2));
  GANDEM_RETURN_IF_ERROR(
      CheckLabels("reference", reference_labels_N, reference_ND, num_classes));
  GANDEM_RETURN_IF_ERROR(
      CheckLabels("generated", generated_labels_M, generated_MD, num_classes));
  IntraClassDistance result;
  for (int64_t label = 0; label < num_classes; ++label) {
    GANDEM_ASSIGN_OR_RETURN(
        const Moments reference,
        MomentsOfClass("reference", reference_ND, reference_labels_N, label));
    GANDEM_ASSIGN_OR_RETURN(
        const Moments generated,
        MomentsOfClass("generated", generated_MD, generated_labels_M, label));
    GANDEM_ASSIGN_OR_RETURN(const double distance,
                            FrechetDistance(reference, generated));
    result.of_class.push_back(distance);
    result.mean += distance / static_cast<double>(num_classes);
  }
  return result;
}

}  // namespace gandem
