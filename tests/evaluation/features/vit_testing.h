// SPDX-License-Identifier: Apache-2.0
//
// Small vision transformers of tests/oracles/vit_goldens.py.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/safetensors.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {

// `file`: "clip.open", "clip.face", "dinov2.meta" or "dinov2.face".
inline std::vector<NamedTensor> VitGoldenWeights(const std::string& file) {
  const char* source_dir = std::getenv("GANDEM_SOURCE_DIR");
  const auto all =
      ReadSafetensors(absl::StrCat(source_dir == nullptr ? "." : source_dir,
                                   "/tests/goldens/vit_weights.safetensors"));
  EXPECT_OK(all);
  std::vector<NamedTensor> weights;
  if (!all.ok()) return weights;
  for (NamedTensor tensor : *all) {
    if (!tensor.name.starts_with(file + ".")) continue;
    tensor.name = tensor.name.substr(file.size() + 1);
    weights.push_back(std::move(tensor));
  }
  return weights;
}

}  // namespace gandem::testing
