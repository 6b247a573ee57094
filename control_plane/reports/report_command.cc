// SPDX-License-Identifier: Apache-2.0
#include "control_plane/reports/report_command.h"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "common/config/fused_feedback.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/process/missing_extra.h"
#include "common/results/round_history.h"
#include "common/results/run_folder.h"
#include "common/results/time_report.h"
#include "common/status.h"
#include "control_plane/reports/report_format.h"
#include "control_plane/views/time_report_text.h"
#include "pipeline/formats/idx_reader.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/open_dataset.h"

namespace gandem {
namespace {

// Returns the number of images, or 0 if this machine lacks the dataset.
int64_t DatasetImages(const DataConfig& data) {
  int64_t images = 0;
  if (data.source().empty()) {
    const auto shape = ReadIdxShape(data.idx_images(), /*num_dimensions=*/3);
    if (!shape.ok()) return 0;
    images = shape->front();
  } else {
    // Do not wait for a network.
    if (IsUrl(data.source())) return 0;
    const auto source = OpenImages(data);
    if (!source.ok()) return 0;
    images = (*source)->size();
  }
  return data.max_images() > 0 ? std::min(images, data.max_images()) : images;
}

absl::StatusOr<ReportedRun> ReadReportedRun(const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          RunFolder(run_dir).ReadConfig());
  RunFacts facts = {.name = config.name(),
                    .generator_batch = StepBatch(config.generator()),
                    .discriminator_batch = StepBatch(config.discriminator()),
                    .dataset_images = DatasetImages(config.data()),
                    .lag = config.schedule().lag()};
  if (config.schedule().feedback() == ScheduleConfig::FUSED) {
    facts.fused_backward =
        ScheduleConfig::FusedBackward_Name(FusedBackwardOf(config));
  }
  GANDEM_ASSIGN_OR_RETURN(facts.workers, RunFolder(run_dir).ReadWorkers());
  GANDEM_ASSIGN_OR_RETURN(RoundHistory history, RoundHistory::Read(run_dir));
  absl::StatusOr<TimeReport> report = MakeTimeReport(facts, history);
  if (!report.ok()) return Annotate(report.status(), run_dir);
  report->run_dir = run_dir;
  return ReportedRun{.report = *std::move(report),
                     .history = std::move(history)};
}

absl::Status WritePage(const std::vector<ReportedRun>& runs,
                       const ReportFormat& format, const std::string& path,
                       std::ostream& out) {
  GANDEM_ASSIGN_OR_RETURN(const std::string page, format.write(runs));
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(path, page));
  out << absl::StrFormat("%s (%.1f MB): open it in a browser\n", path,
                         1e-6 * static_cast<double>(page.size()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReportFormat> HtmlFormatOf(
    std::span<const ReportFormat> formats) {
  const auto found = std::ranges::find(formats, absl::string_view("html"),
                                       &ReportFormat::name);
  if (found == formats.end()) return MissingExtraError("--html", "report_page");
  return *found;
}

absl::Status RunReport(const ReportOptions& options, std::ostream& out) {
  std::vector<ReportedRun> runs;
  for (const std::string& run_dir : options.run_dirs) {
    GANDEM_ASSIGN_OR_RETURN(ReportedRun run, ReadReportedRun(run_dir));
    runs.push_back(std::move(run));
  }
  if (!options.html.empty()) {
    GANDEM_ASSIGN_OR_RETURN(const ReportFormat format,
                            HtmlFormatOf(ExtraReportFormats()));
    return WritePage(runs, format, options.html, out);
  }
  std::vector<TimeReport> reports;
  for (ReportedRun& run : runs) reports.push_back(std::move(run.report));
  out << (options.json          ? TimeReportsJson(reports)
          : reports.size() == 1 ? TimeReportText(reports.front())
                                : ScalingText(reports));
  return absl::OkStatus();
}

}  // namespace gandem
