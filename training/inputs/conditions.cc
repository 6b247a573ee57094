// SPDX-License-Identifier: Apache-2.0
#include "training/inputs/conditions.h"

#include <memory>
#include <utility>

#include "common/check.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/sources/open_dataset.h"
#include "training/compute/compute.h"
#include "training/inputs/data_places.h"

namespace gandem {
namespace {

Purpose LabelsFor(Purpose noise) {
  switch (noise) {
    case Purpose::kGeneratorNoise:
      return Purpose::kGeneratorLabels;
    case Purpose::kDiscriminatorNoise:
      return Purpose::kDiscriminatorLabels;
    default:
      GANDEM_CHECK(noise == Purpose::kSample);
      return Purpose::kSampleLabels;
  }
}

ConditionSource LabelsBy(
    std::function<int64_t(Purpose noise, int64_t step, int64_t index)> label_of,
    at::Device device) {
  return [=](Purpose noise, int64_t step,
             IndexRange range) -> absl::StatusOr<Condition> {
    const at::Tensor labels_N = torch::empty({range.count}, at::kLong);
    int64_t* label = labels_N.mutable_data_ptr<int64_t>();
    for (int64_t i = range.first; i < range.end(); ++i, ++label) {
      *label = label_of(noise, step, i);
    }
    return Condition{.labels_N = ToDevice(labels_N, device)};
  };
}

at::Tensor Concatenate(const std::vector<at::Tensor>& parts) {
  return parts.front().defined() ? at::cat(parts) : at::Tensor();
}

}  // namespace

absl::StatusOr<Condition> NoCondition(Purpose, int64_t, IndexRange) {
  return Condition();
}

ConditionSource KeyedLabels(uint64_t seed, int64_t num_classes,
                            at::Device device) {
  if (num_classes == 0) return NoCondition;
  return LabelsBy(
      [=](Purpose noise, int64_t step, int64_t index) -> int64_t {
        return PhiloxStream(seed, LabelsFor(noise), step, index)
            .NextBelow(static_cast<uint32_t>(num_classes));
      },
      device);
}

absl::StatusOr<ConditionSource> OpenLabels(const DataPlan& plan,
                                           at::Device device) {
  const uint64_t seed = plan.seed;
  const int64_t num_classes = plan.shape.num_classes;
  const auto draw = plan.files.generated_labels();
  if (num_classes == 0 || draw == DataConfig::UNIFORM) {
    return KeyedLabels(seed, num_classes, device);
  }
  GANDEM_ASSIGN_OR_RETURN(DatasetLabels read, ReadDatasetLabels(plan.files));
  const auto labels =
      std::make_shared<const std::vector<int64_t>>(std::move(read.labels));
  const auto size = static_cast<int64_t>(labels->size());
  const DataPlaces places(plan, read.units);
  const bool as_real = draw == DataConfig::AS_REAL_BATCH;
  return LabelsBy(
      [=](Purpose noise, int64_t step, int64_t index) -> int64_t {
        if (as_real && noise != Purpose::kSample) {
          return (*labels)[places.ImageOf(noise, step, index)];
        }
        // Take the label of a randomly chosen image.
        return (*labels)[PhiloxStream(seed, LabelsFor(noise), step, index)
                             .NextBelow(static_cast<uint32_t>(size))];
      },
      device);
}

absl::StatusOr<Condition> ConditionOf(const ConditionSource& source,
                                      const Schedule& schedule,
                                      const ImageBatch& images) {
  IndexRange range = {.first = images.first_index, .count = images.count};
  if (images.use != ImageUse::kTrain ||
      schedule.image_source == ImageSource::kReused) {
    return source(Purpose::kGeneratorNoise, images.round, range);
  }
  // FRESH images are numbered within their discriminator step.
  const int64_t step = range.first / schedule.discriminator_batch;
  range.first -= step * schedule.discriminator_batch;
  GANDEM_CHECK(range.end() <= schedule.discriminator_batch);
  return source(Purpose::kDiscriminatorNoise,
                images.round * schedule.discriminator_steps_per_round + step,
                range);
}

absl::StatusOr<Condition> ConditionOf(const ConditionSource& source,
                                      const Schedule& schedule,
                                      const std::vector<ImageBatch>& pieces) {
  GANDEM_CHECK(!pieces.empty());
  std::vector<at::Tensor> labels;
  std::vector<at::Tensor> images;
  for (const ImageBatch& piece : pieces) {
    GANDEM_ASSIGN_OR_RETURN(const Condition condition,
                            ConditionOf(source, schedule, piece));
    labels.push_back(condition.labels_N);
    images.push_back(condition.images_NCHW);
  }
  return Condition{.labels_N = Concatenate(labels),
                   .images_NCHW = Concatenate(images)};
}

Condition Narrow(const Condition& condition, int64_t first, int64_t count) {
  const auto part = [&](const at::Tensor& whole) {
    return whole.defined() ? whole.narrow(0, first, count) : at::Tensor();
  };
  DrawPlace place = condition.place;
  place.first_index += first;
  return {.labels_N = part(condition.labels_N),
          .images_NCHW = part(condition.images_NCHW),
          .place = place};
}

}  // namespace gandem
