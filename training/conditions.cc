// SPDX-License-Identifier: Apache-2.0
#include "training/conditions.h"

#include <torch/torch.h>

#include "common/check.h"

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

at::Tensor Concatenate(const std::vector<at::Tensor>& parts) {
  return parts.front().defined() ? at::cat(parts) : at::Tensor();
}

}  // namespace

Condition NoCondition(Purpose, int64_t, IndexRange) { return {}; }

ConditionSource KeyedLabels(uint64_t seed, int64_t num_classes,
                            at::Device device) {
  if (num_classes == 0) return NoCondition;
  return [=](Purpose noise, int64_t step, IndexRange range) -> Condition {
    const at::Tensor labels_N = torch::empty({range.count}, at::kLong);
    int64_t* label = labels_N.mutable_data_ptr<int64_t>();
    for (int64_t i = range.first; i < range.end(); ++i, ++label) {
      *label = PhiloxStream(seed, LabelsFor(noise), step, i)
                   .NextBelow(static_cast<uint32_t>(num_classes));
    }
    return {.labels_N = labels_N.to(device)};
  };
}

Condition ConditionOf(const ConditionSource& source, const Schedule& schedule,
                      const ImageBatch& images) {
  IndexRange range = {.first = images.first_index, .count = images.count};
  if (images.use != ImageUse::kTrain ||
      schedule.image_source == ImageSource::kReused) {
    return source(Purpose::kGeneratorNoise, images.round, range);
  }
  // FRESH images were made for one discriminator step, and are counted in it.
  const int64_t step = range.first / schedule.discriminator_batch;
  range.first -= step * schedule.discriminator_batch;
  GANDEM_CHECK(range.end() <= schedule.discriminator_batch);
  return source(Purpose::kDiscriminatorNoise,
                images.round * schedule.discriminator_steps_per_round + step,
                range);
}

Condition ConditionOf(const ConditionSource& source, const Schedule& schedule,
                      const std::vector<ImageBatch>& pieces) {
  GANDEM_CHECK(!pieces.empty());
  std::vector<at::Tensor> labels;
  std::vector<at::Tensor> images;
  for (const ImageBatch& piece : pieces) {
    const Condition condition = ConditionOf(source, schedule, piece);
    labels.push_back(condition.labels_N);
    images.push_back(condition.images_NCHW);
  }
  return {.labels_N = Concatenate(labels), .images_NCHW = Concatenate(images)};
}

Condition Narrow(const Condition& condition, int64_t first, int64_t count) {
  const auto part = [&](const at::Tensor& whole) {
    return whole.defined() ? whole.narrow(0, first, count) : at::Tensor();
  };
  return {.labels_N = part(condition.labels_N),
          .images_NCHW = part(condition.images_NCHW)};
}

}  // namespace gandem
