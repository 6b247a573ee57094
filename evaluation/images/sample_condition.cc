// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/sample_condition.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/inputs/pairs.h"

namespace gandem {

absl::Status CheckClass(int64_t num_classes,
                        std::optional<int64_t> only_class) {
  if (!only_class.has_value()) return absl::OkStatus();
  if (num_classes == 0) {
    return absl::InvalidArgumentError(
        "the run's generator is not told a class: it was trained with "
        "data.num_classes=0");
  }
  if (*only_class >= 0 && *only_class < num_classes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there is no class ",
                                                 *only_class,
                                                 ": the run has classes 0 "
                                                 "to ",
                                                 num_classes - 1));
}

absl::Status UseConditions(uint64_t seed, std::optional<int64_t> only_class,
                           LoadedGenerator& generator) {
  GANDEM_RETURN_IF_ERROR(
      CheckClass(generator.plan.data.shape.num_classes, only_class));
  const at::Device device = generator.compute.device;
  if (only_class.has_value()) {
    generator.conditions = [label = *only_class, device](
                               Purpose, int64_t,
                               IndexRange range) -> absl::StatusOr<Condition> {
      const auto options =
          torch::TensorOptions().dtype(at::kLong).device(device);
      return Condition{.labels_N = torch::full({range.count}, label, options)};
    };
    return absl::OkStatus();
  }
  DataPlan data = generator.plan.data;
  data.seed = seed;
  GANDEM_ASSIGN_OR_RETURN(generator.conditions,
                          OpenConditions(data, generator.pairs, device));
  return absl::OkStatus();
}

}  // namespace gandem
