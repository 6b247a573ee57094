// SPDX-License-Identifier: Apache-2.0
#include "training/inputs/pairs.h"

#include <utility>

#include "common/check.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/sources/open_dataset.h"

namespace gandem {

RealImages SplitPairs(const at::Tensor& joined_NCHW, int64_t channels,
                      const Compute& compute) {
  const int64_t inputs = joined_NCHW.size(1) - channels;
  GANDEM_CHECK(inputs > 0);
  return {.images_NCHW = InLayout(joined_NCHW.narrow(1, 0, channels), compute),
          .condition = {.images_NCHW = InLayout(
                            joined_NCHW.narrow(1, channels, inputs), compute)}};
}

PairReader::PairReader(const DataPlan& plan,
                       std::shared_ptr<const Dataset> pairs,
                       const Compute& compute)
    : pairs_(std::move(pairs)),
      places_(plan, pairs_->Units()),
      seed_(plan.seed),
      channels_(plan.shape.image.channels),
      compute_(compute) {}

absl::StatusOr<RealImages> PairReader::Read(Purpose noise, int64_t step,
                                            IndexRange range) const {
  const ImageShape shape = pairs_->shape();
  const at::Tensor joined_NCHW =
      torch::empty({range.count, shape.channels, shape.height, shape.width});
  float* values = joined_NCHW.mutable_data_ptr<float>();
  const auto size = static_cast<size_t>(shape.NumValues());
  for (int64_t i = range.first; i < range.end(); ++i, values += size) {
    const int64_t image = places_.ImageOf(noise, step, i);
    const auto number = places_.NumberOf(noise, step, i);
    // Use the augmentation of the real image, so that input and target match.
    GANDEM_RETURN_IF_ERROR(
        number.has_value()
            ? pairs_->ReadSample(image, {.seed = seed_, .number = *number},
                                 {values, size})
            : pairs_->Read(image, {values, size}));
  }
  return SplitPairs(joined_NCHW, channels_, compute_);
}

absl::StatusOr<std::shared_ptr<const PairReader>> OpenPairReader(
    const DataPlan& plan, const Compute& compute) {
  GANDEM_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> pairs,
                          OpenPairs(plan.files));
  return std::make_shared<const PairReader>(plan, std::move(pairs), compute);
}

ConditionSource InputsOf(std::shared_ptr<const PairReader> pairs) {
  return [pairs](Purpose noise, int64_t step,
                 IndexRange range) -> absl::StatusOr<Condition> {
    GANDEM_ASSIGN_OR_RETURN(RealImages images, pairs->Read(noise, step, range));
    return std::move(images.condition);
  };
}

absl::StatusOr<ConditionSource> OpenConditions(
    const DataPlan& plan, std::shared_ptr<const PairReader> pairs,
    at::Device device) {
  if (pairs) return InputsOf(std::move(pairs));
  return OpenLabels(plan, device);
}

absl::StatusOr<RealImages> ReadConditions(const ConditionSource& conditions,
                                          const PairReader* pairs,
                                          Purpose noise, int64_t step,
                                          IndexRange range) {
  if (pairs != nullptr) return pairs->Read(noise, step, range);
  RealImages none;
  GANDEM_ASSIGN_OR_RETURN(none.condition, conditions(noise, step, range));
  return none;
}

at::Tensor BesidePairs(const RealImages& pairs, const at::Tensor& images_NCHW) {
  return at::cat({pairs.condition.images_NCHW, images_NCHW, pairs.images_NCHW},
                 /*dim=*/3);
}

}  // namespace gandem
