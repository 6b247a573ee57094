// SPDX-License-Identifier: Apache-2.0
//
// Weights of the small vision transformers of vit_goldens.py.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <string>
#include <vector>

#include "tests/evaluation/features/golden_weights.h"

namespace gandem::testing {

// Relative to tests/goldens.
inline constexpr char kVitGoldens[] =
    "../../extras/vit_features/tests/goldens/vits.safetensors";

// `file`: "clip.open", "clip.face", "dinov2.meta" or "dinov2.face".
inline std::vector<NamedTensor> VitGoldenWeights(const std::string& file) {
  return GoldenWeights(
      "../../extras/vit_features/tests/goldens/vit_weights.safetensors",
      file + ".");
}

}  // namespace gandem::testing
