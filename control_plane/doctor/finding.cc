// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/finding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/printable.h"

namespace gandem {

std::string FindingLine(const Finding& finding) {
  constexpr const char* kNames[] = {"ok", "warning", "FAULT"};
  const std::string line = absl::StrFormat(
      "%-8s %s: %s%s%s", kNames[static_cast<size_t>(finding.verdict)],
      finding.check, finding.text, finding.advice.empty() ? "" : "; ",
      finding.advice);
  constexpr size_t kMaxLine = 2000;  // parts are of other hosts
  return Printable(line, kMaxLine);
}

bool HasFault(const Findings& findings) {
  return std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.verdict == Finding::Verdict::kFault;
  });
}

}  // namespace gandem
