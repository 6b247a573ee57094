// SPDX-License-Identifier: Apache-2.0
//
// Feature networks of extras (extras/README.md), made of a user's weights:
// `--features clip:FILE`, or FILE alone if its layers tell the network.
//
// Owner: values. Thread safety: one compute thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"
#include "evaluation/features/feature_extractor.h"

namespace gandem {

struct WeightsFamily {
  absl::string_view name;  // FeatureNet::family, "clip"
  absl::string_view what;  // in messages, "a vision transformer"
  // Whether the first layers of the network are among the tensors.
  bool (*holds)(const std::vector<NamedTensor>& tensors);
  // `sha256` is the hash of the file.
  absl::StatusOr<std::unique_ptr<FeatureExtractor>> (*make)(
      std::vector<NamedTensor> tensors, const std::string& sha256,
      const ExtractorOptions& options);
};

// The families in this build, in the order in which files are tried.
std::vector<WeightsFamily> ExtraWeightsFamilies();

}  // namespace gandem
