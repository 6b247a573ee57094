// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/evaluation_reference.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "evaluation/images/image_set.h"
#include "evaluation/judging/statistics_subject.h"

namespace gandem {
namespace {

constexpr size_t kKeyDigits = 12;

// Features that were made when files were read by other rules (gamma, alpha)
// are not found any more.
constexpr char kReading[] = " plain";

std::string SizeText(const ImagesCard& images) {
  return absl::StrCat(
      images.height() == 0
          ? "of several sizes,"
          : absl::StrCat(images.height(), " x ", images.width()),
      images.channels() == 1 ? " gray" : " RGB");
}

std::string ShortHash(const std::string& sha256) {
  return sha256.substr(0, kKeyDigits);
}

}  // namespace

std::string ShortKey(absl::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return ShortHash(hash.Finish());
}

std::string FeaturesKey(const std::string& images_sha256,
                        const FeatureNet& net) {
  return absl::StrCat(ShortHash(images_sha256), "-",
                      ShortKey(absl::StrCat(net.sha256, " ", net.resize,
                                            net.part, net.compute, kReading)));
}

absl::StatusOr<EvaluationReference> EvaluationReference::Open(
    const Reference& reference, const FeatureNet& net, const FeatureJob& job,
    const ImagesCard& images, const MetricSet& metrics, bool any_size,
    const std::string& folder) {
  EvaluationReference result(net, job, folder);
  GANDEM_RETURN_IF_ERROR(
      reference.statistics.has_value()
          ? result.UseStatistics(reference, metrics)
          : result.UseImages(reference, images, metrics, any_size));
  return result;
}

absl::Status EvaluationReference::UseStatistics(const Reference& reference,
                                                const MetricSet& metrics) {
  const FeatureStatistics& statistics = *reference.statistics;
  const std::string& name = reference.name;
  if (metrics.needs_reference_features()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        " holds a mean and a covariance: kid, prdc, intra_fid and cmmd need "
        "the images themselves as --reference"));
  }
  GANDEM_ASSIGN_OR_RETURN(warnings_, CheckStatisticsOf(name, statistics, net_));
  GANDEM_ASSIGN_OR_RETURN(card_, CardOfStatistics(name, statistics));
  statistics_ = statistics.moments;
  return absl::OkStatus();
}

absl::Status EvaluationReference::UseImages(const Reference& reference,
                                            const ImagesCard& images,
                                            const MetricSet& metrics,
                                            bool any_size) {
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<ImageSet> source,
                          OpenImageSet(*reference.images));
  GANDEM_ASSIGN_OR_RETURN(card_, source->Describe());
  card_.set_name(reference.name);
  card_.set_num_images(source->size());
  const bool several = card_.height() == 0 || images.height() == 0;
  if (!any_size && !several && SizeText(card_) != SizeText(images)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the images are ", SizeText(images), ", those of the reference ",
        reference.name, " are ", SizeText(card_),
        ": sizes and channels must agree. --resize brings images to the size "
        "of the reference; with --resize none they keep theirs until the "
        "network resizes them, as pytorch-fid and torch-fidelity do"));
  }
  if (metrics.intra_class) {
    absl::StatusOr<at::Tensor> labels =
        source->ReadLabels({.first = 0, .count = source->size()});
    if (!labels.ok()) {
      return Annotate(labels.status(),
                      absl::StrCat("intra_fid, reference ", reference.name));
    }
    labels_N_ = *std::move(labels);
  }
  *job_.mutable_images() = *reference.images;
  job_.set_side("the reference");
  GANDEM_ASSIGN_OR_RETURN(
      held_folder_,
      CachedFolder::Hold(folder_, FeaturesKey(card_.sha256(), net_)));
  GANDEM_ASSIGN_OR_RETURN(store_,
                          FeatureStore::Create(held_folder_->path(), job_));
  return absl::OkStatus();
}

std::optional<FeatureSide> EvaluationReference::features() const {
  if (!store_.has_value()) return std::nullopt;
  return FeatureSide{.store = &*store_,
                     .num_images = card_.num_images(),
                     .labels_N = labels_N_};
}

absl::StatusOr<Moments> EvaluationReference::ReadMomentsOnce() const {
  if (statistics_.has_value()) return *statistics_;
  const int64_t count = card_.num_images();
  const std::string path =
      absl::StrCat(store_->folder(), "/statistics-", count, ".safetensors");
  if (PathExists(path)) {
    absl::StatusOr<FeatureStatistics> cached = ReadStatistics(path);
    if (cached.ok()) return std::move(cached)->moments;
  }
  absl::StatusOr<Moments> read = ReadMoments(*store_, net_, count);
  if (!read.ok())
    return Annotate(read.status(),
                    absl::StrCat("the reference, seen by ", net_.name));
  Moments moments = *std::move(read);
  // The file would not have what the distance needs of few images.
  if (moments.root_ND.defined()) return moments;
  // Other jobs may write the same.
  const std::string temporary = TemporaryName(path);
  GANDEM_RETURN_IF_ERROR(WriteStatistics(temporary,
                                         {.moments = moments,
                                          .net_name = net_.name,
                                          .net_sha256 = net_.sha256,
                                          .resize = net_.resize,
                                          .reference_name = card_.name(),
                                          .reference_split = card_.split(),
                                          .reference_hash = card_.sha256()},
                                         StatisticsFormat::kSafetensors));
  GANDEM_RETURN_IF_ERROR(RenameDurably(temporary, path));
  return moments;
}

}  // namespace gandem
