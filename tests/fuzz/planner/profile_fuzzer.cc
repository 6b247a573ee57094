// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of profiles, which are cached or exchanged between users.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "scaling_manager/profiler/profile_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto profile = gandem::ParseProfile(input, "input");
  if (!profile.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(profile.status()));
    GANDEM_CHECK(!profile.status().message().empty());
    return 0;
  }
  const std::string text = gandem::ProfileText(*profile);
  const auto again = gandem::ParseProfile(text, "again");
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(gandem::ProfileText(*again) == text);
  return 0;
}
