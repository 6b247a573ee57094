// SPDX-License-Identifier: Apache-2.0
//
// State dicts of small networks in tests/goldens. The names of each network's
// tensors have a prefix.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/safetensors.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {

// Returns the tensors of `file` whose names begin with `prefix`, without it.
inline std::vector<NamedTensor> GoldenWeights(const std::string& file,
                                              const std::string& prefix) {
  const char* source_dir = std::getenv("GANDEM_SOURCE_DIR");
  const auto all = ReadSafetensors(absl::StrCat(
      source_dir == nullptr ? "." : source_dir, "/tests/goldens/", file));
  EXPECT_OK(all);
  std::vector<NamedTensor> weights;
  if (!all.ok()) return weights;
  for (NamedTensor tensor : *all) {
    if (!tensor.name.starts_with(prefix)) continue;
    tensor.name = tensor.name.substr(prefix.size());
    weights.push_back(std::move(tensor));
  }
  return weights;
}

}  // namespace gandem::testing
