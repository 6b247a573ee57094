// SPDX-License-Identifier: Apache-2.0
//
// Checks of losses and augmentations in recipes that are given as text.
//
// Thread safety: pure functions.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "common/config/field_ranges.h"
#include "common/config/validate_parts.h"
#include "common/files/text_proto.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {

inline absl::Status CheckLoss(const std::string& text) {
  RunConfig config;
  EXPECT_OK(ParseTextProto(text, "config", config)) << text;
  Faults faults("config");
  CheckRanges("", config, faults);
  CheckLosses(config, faults);
  return faults.ToStatus();
}

inline void ExpectFault(const std::string& text, const std::string& fault) {
  EXPECT_THAT(CheckLoss(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                        ::testing::HasSubstr(fault)))
      << text;
}

}  // namespace gandem::testing
