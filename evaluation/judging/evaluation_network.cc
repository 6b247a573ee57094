// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/evaluation_network.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/features/train_features.h"
#include "evaluation/judging/choose_precision.h"
#include "evaluation/judging/evaluation_reference.h"
#include "evaluation/judging/statistics_subject.h"
#include "training/compute/devices.h"

namespace gandem {

absl::StatusOr<EvaluationNetwork> EvaluationNetwork::Open(
    const EvaluateRequest& request, const Subject& subject,
    const Reference& reference, const ImageShape& shape,
    const JudgedImages& judged) {
  EvaluationNetwork result{FeatureNet()};
  FeatureJob& job = result.job_;
  const NetworkFile named = ParseNetworkFile(request.features);
  GANDEM_ASSIGN_OR_RETURN(
      *job.mutable_network(),
      FindNetwork(named.path, subject, reference, request.say));
  ExtractorOptions options = {
      .image_shape = shape, .family = named.family, .dims = request.dims};
  GANDEM_ASSIGN_OR_RETURN(options.resize, InputResizeOf(request));
  GANDEM_ASSIGN_OR_RETURN(options.compute.device,
                          ParseDevice(request.subject.device));
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<FeatureExtractor> extractor,
                          OpenFeatureExtractor(job.network(), options));
  result.net_ = extractor->net();
  GANDEM_ASSIGN_OR_RETURN(const MetricSet metrics,
                          ParseMetrics(request.metrics));
  GANDEM_RETURN_IF_ERROR(CheckNetwork(metrics, result.net_));
  job.set_network_sha256(result.net_.sha256);
  job.set_input_resize(request.input_resize);
  if (request.dims.has_value()) job.set_dims(*request.dims);
  job.set_device(request.subject.device);
  GANDEM_RETURN_IF_ERROR(result.Choose(request, reference, judged, options));
  job.set_precision(PrecisionText(options.compute.precision));
  result.net_.compute = ComputeText(options.compute);
  return result;
}

absl::Status EvaluationNetwork::Choose(const EvaluateRequest& request,
                                       const Reference& reference,
                                       const JudgedImages& judged,
                                       ExtractorOptions& options) {
  at::ScalarType& precision = options.compute.precision;
  if (request.precision != EvaluateRequest::kFastest) {
    GANDEM_ASSIGN_OR_RETURN(precision, ParsePrecision(request.precision));
    return absl::OkStatus();
  }
  TrialSides sides = {.images = judged.images, .num_images = judged.num_images};
  std::unique_ptr<ImageSet> others;
  std::string key = judged.sha256;
  if (reference.statistics.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(
        const ImagesCard card,
        CardOfStatistics(reference.name, *reference.statistics));
    sides.statistics = &reference.statistics->moments;
    absl::StrAppend(&key, " ", card.sha256());
  } else {
    GANDEM_ASSIGN_OR_RETURN(others, OpenImageSet(*reference.images));
    GANDEM_ASSIGN_OR_RETURN(const ImagesCard card, others->Describe());
    sides.reference = others.get();
    absl::StrAppend(&key, " ", card.sha256());
  }
  absl::StrAppend(&key, " ", judged.num_images, " ", net_.sha256, " ",
                  net_.resize, " ", net_.part, " ", net_.compute);
  const std::string folder = request.feature_cache_gib == 0
                                 ? ""
                                 : DefaultFeatureCache() + "/precision";
  GANDEM_ASSIGN_OR_RETURN(
      trial_,
      KeptTrial(folder, ShortKey(key), [&]() -> absl::StatusOr<PrecisionTrial> {
        if (request.say) request.say("trying out which precision is fastest");
        return FastestPrecision(job_.network(), options, sides);
      }));
  GANDEM_ASSIGN_OR_RETURN(precision, ParsePrecision(trial_->precision()));
  return absl::OkStatus();
}

FeatureJob EvaluationNetwork::Job() const { return job_; }

FeaturesCard EvaluationNetwork::Card() const {
  FeaturesCard card;
  card.set_network(net_.name);
  card.set_sha256(net_.sha256);
  card.set_dim(net_.feature_dim);
  card.set_num_classes(net_.num_classes);
  card.set_resize(net_.resize);
  card.set_compute(net_.compute);
  if (trial_.has_value()) *card.mutable_trial() = *trial_;
  return card;
}

}  // namespace gandem
