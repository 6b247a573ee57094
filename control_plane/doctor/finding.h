// SPDX-License-Identifier: Apache-2.0
//
// The result of one check of `gandem doctor`.
//
// Thread safety: values.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/files/printable.h"

namespace gandem {

struct Finding {
  enum class Verdict { kOk, kWarning, kFault };
  Verdict verdict = Verdict::kOk;
  std::string check;        // name, such as "run folder"
  std::string text;         // result of the check
  std::string advice = {};  // empty if the verdict is kOk
};
using Findings = std::vector<Finding>;

inline Finding Fine(std::string check, std::string text) {
  return {Finding::Verdict::kOk, std::move(check), std::move(text)};
}
inline Finding Warning(std::string check, std::string text,
                       std::string advice) {
  return {Finding::Verdict::kWarning, std::move(check), std::move(text),
          std::move(advice)};
}
inline Finding Fault(std::string check, std::string text, std::string advice) {
  return {Finding::Verdict::kFault, std::move(check), std::move(text),
          std::move(advice)};
}

// Returns one line, for example "FAULT    disk: 1 GiB are free ...; make room".
inline std::string FindingLine(const Finding& finding) {
  constexpr const char* kNames[] = {"ok", "warning", "FAULT"};
  constexpr size_t kMaxLine = 2000;  // some texts come from other hosts
  return Printable(
      absl::StrFormat("%-8s %s: %s%s%s",
                      kNames[static_cast<size_t>(finding.verdict)],
                      finding.check, finding.text,
                      finding.advice.empty() ? "" : "; ", finding.advice),
      kMaxLine);
}
inline bool HasFault(const Findings& findings) {
  return std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.verdict == Finding::Verdict::kFault;
  });
}

}  // namespace gandem
