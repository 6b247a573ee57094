// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/statistics_subject.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "evaluation/features/inception_extractor.h"
#include "evaluation/networks/inception_v3.h"

namespace gandem {
namespace {

constexpr size_t kHashDigits = 12;

constexpr char kNotNamed[] = "network not named";

std::string ShortNetHash(const std::string& sha256) {
  return sha256.substr(0, kHashDigits);
}

std::string FirstOf(const std::string& a, const std::string& b) {
  return a.empty() ? b : a;
}

// Assumptions about what the file does not record, as warnings.
std::vector<std::string> AssumptionsOf(const std::string& name,
                                       const FeatureStatistics& statistics,
                                       const FeatureNet& net) {
  std::vector<std::string> assumed;
  if (statistics.net_sha256.empty()) {
    assumed.push_back(absl::StrCat(
        name,
        " does not say which network it was made with; it is assumed to be ",
        net.sha256.empty() ? "that of the other side" : net.name));
  }
  if (statistics.resize.empty()) {
    assumed.push_back(absl::StrCat(
        name, " does not say how its images were resized; it is assumed to be ",
        net.resize.empty()
            ? "the same as of the other side"
            : absl::StrCat("'", net.resize, "', as those of the other side"),
        ". Statistics of pytorch-fid need --input_resize pytorch_fid, those of "
        "clean-fid --input_resize clean"));
  }
  if (statistics.moments.count == 0) {
    assumed.push_back(absl::StrCat(
        name,
        " does not say how many images it was made of, so predicted_bias "
        "leaves out their effect"));
  }
  return assumed;
}

}  // namespace

absl::Status CheckStatisticsRequest(const EvaluateRequest& request,
                                    const MetricSet& metrics) {
  const std::string& source = request.subject.source;
  if (metrics != MetricSet{.frechet = true}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", source, "' holds a mean and a covariance, and --metric ",
        request.metrics,
        " asks for more than a Frechet distance: all others "
        "need features of each image. Give the images themselves as SOURCE, or "
        "--metric fid"));
  }
  Faults faults(absl::StrCat("'", source, "' holds statistics and no images"));
  if (request.num.has_value() || request.first) {
    faults.Add("--num and --first choose images");
  }
  if (!request.resize.empty() &&
      request.resize != EvaluateRequest::kKeepSizes) {
    faults.Add("--resize changes images");
  }
  if (!request.save_statistics.empty()) {
    faults.Add("--save_statistics would write it again");
  }
  return faults.ToStatus();
}

absl::Status CheckReferenceStatistics(const std::string& name,
                                      const MetricSet& metrics) {
  if (!metrics.needs_reference_features()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name,
      " holds a mean and a covariance: kid, prdc and cmmd need the images "
      "themselves as --reference"));
}

FeatureNet NetOfStatistics(const FeatureStatistics& images,
                           const FeatureStatistics& reference,
                           std::optional<InputResize> input_resize) {
  const FeatureStatistics& named =
      images.net_sha256.empty() ? reference : images;
  std::string resize = FirstOf(images.resize, reference.resize);
  if (input_resize.has_value()) resize = InputResizeText(*input_resize);
  return {.name = FirstOf(named.net_name, kNotNamed),
          .sha256 = named.net_sha256,
          .feature_dim = images.moments.dim(),
          .num_classes = 0,
          .resize = std::move(resize),
          .is_inception = IsPublishedInception(named.net_sha256) &&
                          images.moments.dim() == InceptionV3::kFeatureDim};
}

absl::StatusOr<std::vector<std::string>> CheckStatisticsOf(
    const std::string& name, const FeatureStatistics& statistics,
    const FeatureNet& net) {
  if (!statistics.net_sha256.empty() && statistics.net_sha256 != net.sha256) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " was made with the network ", statistics.net_name, " (sha256 ",
        ShortNetHash(statistics.net_sha256), "), the features are those of ",
        net.name, " (", ShortNetHash(net.sha256),
        "): a distance between them means nothing. Give --features the same "
        "network"));
  }
  if (!statistics.resize.empty() && statistics.resize != net.resize) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " was made with the resize '", statistics.resize,
                     "', the features with '", net.resize,
                     "': they must agree (--input_resize)"));
  }
  if (statistics.moments.dim() != net.feature_dim) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is of features with ", statistics.moments.dim(),
                     " numbers, ", net.name, " gives ", net.feature_dim,
                     ": they are of different networks"));
  }
  return AssumptionsOf(name, statistics, net);
}

absl::StatusOr<ImagesCard> CardOfStatistics(
    const std::string& name, const FeatureStatistics& statistics) {
  ImagesCard card;
  card.set_kind("statistics");
  card.set_name(FirstOf(statistics.reference_name, name));
  card.set_split(statistics.reference_split);
  card.set_num_images(statistics.moments.count);
  GANDEM_ASSIGN_OR_RETURN(*card.mutable_sha256(), Sha256OfFile(name));
  return card;
}

}  // namespace gandem
