// SPDX-License-Identifier: Apache-2.0
//
// gtest matchers and macros for absl::Status and absl::StatusOr.
//
//   EXPECT_OK(cache.Put(batch, deadline));
//   ASSERT_OK_AND_ASSIGN(const RunConfig config, LoadRunConfig(path, {}));
//   EXPECT_THAT(Load(path), StatusIs(absl::StatusCode::kNotFound,
//                                    HasSubstr("no such file")));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem::testing {

inline absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  const absl::Status status = StatusOf(arg);
  if (!status.ok()) *result_listener << "which is " << status;
  return status.ok();
}

class StatusIsMatcher {
 public:
  StatusIsMatcher(absl::StatusCode code,
                  ::testing::Matcher<const std::string&> message)
      : code_(code), message_(std::move(message)) {}

  template <typename T>
  bool MatchAndExplain(const T& arg,
                       ::testing::MatchResultListener* listener) const {
    const absl::Status status = StatusOf(arg);
    *listener << "which is " << status;
    return status.code() == code_ &&
           message_.MatchAndExplain(std::string(status.message()), listener);
  }
  void DescribeTo(std::ostream* os) const {
    *os << "has code " << absl::StatusCodeToString(code_) << " and a message ";
    message_.DescribeTo(os);
  }
  void DescribeNegationTo(std::ostream* os) const {
    *os << "has another code than " << absl::StatusCodeToString(code_)
        << " or a message ";
    message_.DescribeNegationTo(os);
  }

 private:
  absl::StatusCode code_;
  ::testing::Matcher<const std::string&> message_;
};

inline auto StatusIs(absl::StatusCode code,
                     ::testing::Matcher<const std::string&> message =
                         ::testing::A<const std::string&>()) {
  return ::testing::MakePolymorphicMatcher(
      StatusIsMatcher(code, std::move(message)));
}

}  // namespace gandem::testing

#define EXPECT_OK(expression) \
  EXPECT_THAT((expression), ::gandem::testing::IsOk())
#define ASSERT_OK(expression) \
  ASSERT_THAT((expression), ::gandem::testing::IsOk())

#define ASSERT_OK_AND_ASSIGN(lhs, expression)                          \
  GANDEM_TESTING_ASSIGN(GANDEM_TESTING_CONCAT(result_, __LINE__), lhs, \
                        expression)
#define GANDEM_TESTING_ASSIGN(result, lhs, expression) \
  auto result = (expression);                          \
  ASSERT_OK(result.status());                          \
  lhs = *std::move(result)
#define GANDEM_TESTING_CONCAT(a, b) GANDEM_TESTING_CONCAT_2(a, b)
#define GANDEM_TESTING_CONCAT_2(a, b) a##b
