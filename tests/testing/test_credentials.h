// SPDX-License-Identifier: Apache-2.0
//
// Sets the same run credentials in all processes of a test.
//
// Thread safety: as SetProcessCredentials.
#pragma once

#include <string>

#include "common/security/credentials.h"

namespace gandem::testing {

inline std::string TestToken() { return std::string(64, 'a'); }

inline void UseTestCredentials() {
  SetProcessCredentials({.token = TestToken(), .token_file = "the test's"});
}

}  // namespace gandem::testing
