// SPDX-License-Identifier: Apache-2.0
//
// The format "html" of `gandem report`.
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "control_plane/reports/report_format.h"
#include "extras/report_page/report_page.h"
#include "extras/report_page/run_page_data.h"

namespace gandem {
namespace {

using Json = nlohmann::ordered_json;

// Appends the folder to names that several runs share.
void TellApart(Json& runs) {
  std::map<std::string, int> counts;
  for (const Json& run : runs) ++counts[run["name"].get<std::string>()];
  for (Json& run : runs) {
    const std::string name = run["name"].get<std::string>();
    if (counts[name] > 1) {
      run["name"] =
          absl::StrCat(name, " (", run["run_dir"].get<std::string>(), ")");
    }
  }
}

absl::StatusOr<std::string> PageOf(std::span<const ReportedRun> runs) {
  Json data = Json::array();
  for (const ReportedRun& run : runs) {
    GANDEM_ASSIGN_OR_RETURN(Json one, RunPageData(run.report, run.history));
    data.push_back(std::move(one));
  }
  TellApart(data);
  return ReportPage(data);
}

}  // namespace

ReportFormat ReportPageFormat() { return {.name = "html", .write = PageOf}; }

}  // namespace gandem
