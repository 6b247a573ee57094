// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the config loader: the text up to the first zero byte is the file, the
// following texts are the arguments of --set, separated by zero bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/config/run_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> parts = absl::StrSplit(input, '\0');
  const std::string text = parts.front();
  parts.erase(parts.begin());
  const auto config = gandem::ParseRunConfig(text, "input", parts);
  if (!config.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(config.status()));
    GANDEM_CHECK(!config.status().message().empty());
    return 0;
  }
  // A valid config is sent to a worker and parsed without a change.
  const std::string effective = gandem::EffectiveConfigText(*config);
  const auto again = gandem::ParseRunConfig(effective, "effective", {});
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(gandem::ConfigHash(*again) == gandem::ConfigHash(*config));
  return 0;
}
