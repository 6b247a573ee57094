// SPDX-License-Identifier: Apache-2.0
//
// Stores features as an evaluation does.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "common/files/file.h"
#include "evaluation/features/feature_store.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {

inline FeatureStore StoreFeatures(const std::string& folder,
                                  const at::Tensor& features_ND) {
  EXPECT_OK(CreateDirectories(folder));
  const FeatureStore store(folder);
  for (const IndexRange& slice : SlicesOf(features_ND.size(0))) {
    EXPECT_OK(store.Write(slice, {.features_ND = features_ND.narrow(
                                      0, slice.first, slice.count)}));
  }
  return store;
}

}  // namespace gandem::testing
