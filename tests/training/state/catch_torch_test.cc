// SPDX-License-Identifier: Apache-2.0
#include "training/state/catch_torch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <system_error>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CatchTorchTest, LackOfMemoryOrThreadsIsNamed) {
  EXPECT_THAT(CatchTorch([]() -> absl::Status { throw std::bad_alloc(); }),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("out of memory")));
  for (const std::errc code : {std::errc::resource_unavailable_try_again,
                               std::errc::not_enough_memory}) {
    EXPECT_THAT(
        CatchTorch([code]() -> absl::Status {
          throw std::system_error(std::make_error_code(code));
        }),
        StatusIs(absl::StatusCode::kResourceExhausted,
                 AllOf(HasSubstr("memory or threads"), HasSubstr("ulimit"))));
  }
}

TEST(CatchTorchTest, OtherSystemErrorsAreInternal) {
  EXPECT_THAT(
      CatchTorch([]() -> absl::Status {
        throw std::system_error(std::make_error_code(std::errc::io_error));
      }),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("Input/output")));
}

}  // namespace
}  // namespace gandem
