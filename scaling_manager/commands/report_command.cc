// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/report_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/process/exit_code.h"
#include "common/status.h"
#include "pipeline/formats/idx_reader.h"
#include "scaling_manager/views/round_history.h"
#include "scaling_manager/views/run_workers.h"
#include "scaling_manager/views/time_report.h"
#include "scaling_manager/views/time_report_text.h"

namespace gandem {
namespace {

// 0 where the dataset is not on this machine.
int64_t DatasetImages(const DataConfig& data) {
  const auto shape = ReadIdxShape(data.idx_images(), /*num_dimensions=*/3);
  if (!shape.ok()) return 0;
  const int64_t images = shape->front();
  return data.max_images() > 0 ? std::min(images, data.max_images()) : images;
}

absl::StatusOr<TimeReport> ReportOf(const std::string& run_dir) {
  const std::string config_path = run_dir + "/config.textproto";
  if (!PathExists(config_path)) {
    return absl::NotFoundError(absl::StrCat(
        "'", run_dir, "' holds no run (there is no config.textproto); `gandem ",
        "train RECIPE --run_dir ", run_dir, "` makes one"));
  }
  RunFacts facts;
  GANDEM_ASSIGN_OR_RETURN(facts.config, LoadRunConfig(config_path, {}));
  GANDEM_ASSIGN_OR_RETURN(facts.workers, ReadRunWorkers(run_dir));
  GANDEM_ASSIGN_OR_RETURN(const RoundHistory history,
                          RoundHistory::Read(run_dir));
  facts.dataset_images = DatasetImages(facts.config.data());
  absl::StatusOr<TimeReport> report = MakeTimeReport(facts, history);
  if (!report.ok()) return Annotate(report.status(), run_dir);
  report->run_dir = run_dir;
  return report;
}

absl::StatusOr<std::string> ReportText(const ReportOptions& options) {
  std::vector<TimeReport> reports;
  for (const std::string& run_dir : options.run_dirs) {
    GANDEM_ASSIGN_OR_RETURN(reports.emplace_back(), ReportOf(run_dir));
  }
  if (options.json) return TimeReportsJson(reports);
  return reports.size() == 1 ? TimeReportText(reports.front())
                             : ScalingText(reports);
}

}  // namespace

int RunReport(const ReportOptions& options, FILE* out) {
  const absl::StatusOr<std::string> text = ReportText(options);
  if (text.ok()) {
    absl::FPrintF(out, "%s", *text);
    return kExitOk;
  }
  absl::FPrintF(stderr, "gandem report: %s\n", text.status().message());
  return ExitCodeOf(text.status());
}

}  // namespace gandem
