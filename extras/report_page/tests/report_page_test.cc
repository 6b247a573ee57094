// SPDX-License-Identifier: Apache-2.0
#include "extras/report_page/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/files/sha256.h"

namespace gandem {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

// The text between the first `start` and the next `end`.
std::string Between(absl::string_view page, absl::string_view start,
                    absl::string_view end) {
  const size_t from = page.find(start) + start.size();
  return std::string(page.substr(from, page.find(end, from) - from));
}

TEST(ReportPageTest, ForeignTextStaysText) {
  const Json runs = {{{"name", "</script><script>alert(1)</script>"},
                      {"recipe", "a \xff {{SCRIPT}} <!-- \u2028"}}};
  const std::string page = ReportPage(runs);
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  const std::string data = Between(
      page, R"(<script type="application/json" id="data">)", "</script>");
  const Json read = Json::parse(data)["runs"];
  EXPECT_EQ(read[0]["name"], "</script><script>alert(1)</script>");
  EXPECT_EQ(read[0]["recipe"], "a \ufffd {{SCRIPT}} <!-- \u2028");
}

// A browser refuses a script whose hash is not in the policy.
TEST(ReportPageTest, ThePolicyNamesItsScriptAndNothingElse) {
  const std::string page = ReportPage(Json::array());
  const std::string policy =
      Between(page, R"(Content-Security-Policy" content=")", "\"");
  Sha256 hash;
  hash.Update(Between(page, "<script>", "</script>"));
  EXPECT_THAT(
      policy,
      HasSubstr(absl::StrCat(
          "script-src 'sha256-",
          absl::Base64Escape(absl::HexStringToBytes(hash.Finish())), "'")));
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
}

}  // namespace
}  // namespace gandem
