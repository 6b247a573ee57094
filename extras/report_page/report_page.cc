// SPDX-License-Identifier: Apache-2.0
#include "extras/report_page/report_page.h"

#include <span>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/files/sha256.h"
#include "common/version.h"

namespace gandem {
namespace internal {

// Defined by GandemEmbed.cmake.
extern const std::span<const unsigned char> kReportHtml;
extern const std::span<const unsigned char> kReportCss;
extern const std::span<const unsigned char> kReportChartScript;
extern const std::span<const unsigned char> kReportPageScript;

}  // namespace internal

namespace {

absl::string_view TextOf(std::span<const unsigned char> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Hash of an inline element for a content security policy.
std::string PolicyHash(absl::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return absl::StrCat("'sha256-",
                      absl::Base64Escape(absl::HexStringToBytes(hash.Finish())),
                      "'");
}

// Escapes '<', which JSON has only in strings, so that no string can end the
// script element.
std::string JsonText(const nlohmann::ordered_json& json) {
  using Json = nlohmann::ordered_json;
  return absl::StrReplaceAll(
      json.dump(-1, ' ', false, Json::error_handler_t::replace),
      {{"<", "\\u003c"}, {"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}});
}

}  // namespace

std::string ReportPage(const nlohmann::ordered_json& runs) {
  // The policy hashes the exact bytes between the tags.
  const absl::string_view style = TextOf(internal::kReportCss);
  const std::string script = absl::StrCat(TextOf(internal::kReportChartScript),
                                          TextOf(internal::kReportPageScript));
  const std::string data =
      JsonText({{"version", std::string(GandemVersion())}, {"runs", runs}});
  // A single pass, so that inserted text is not replaced again.
  return absl::StrReplaceAll(TextOf(internal::kReportHtml),
                             {{"{{STYLE_HASH}}", PolicyHash(style)},
                              {"{{SCRIPT_HASH}}", PolicyHash(script)},
                              {"{{STYLE}}", style},
                              {"{{SCRIPT}}", script},
                              {"{{DATA}}", data}});
}

}  // namespace gandem
