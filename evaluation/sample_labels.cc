// SPDX-License-Identifier: Apache-2.0
#include "evaluation/sample_labels.h"

#include <torch/torch.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "training/conditions.h"

namespace gandem {

absl::Status CheckClass(const RunConfig& config,
                        std::optional<int64_t> only_class) {
  if (!only_class.has_value()) return absl::OkStatus();
  const int64_t num_classes = config.data().num_classes();
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

Condition SampleCondition(const RunConfig& config, uint64_t seed,
                          std::optional<int64_t> only_class, IndexRange range,
                          at::Device device) {
  if (only_class.has_value()) {
    const auto options = torch::TensorOptions().dtype(at::kLong).device(device);
    return {.labels_N = torch::full({range.count}, *only_class, options)};
  }
  return KeyedLabels(seed, config.data().num_classes(), device)(
      Purpose::kSample, 0, range);
}

}  // namespace gandem
