// SPDX-License-Identifier: Apache-2.0
//
// The `gandem` command: the one thing a user starts.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/config/explain.h"
#include "common/config/fused_feedback.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/descriptor_limit.h"
#include "common/process/exit_code.h"
#include "common/process/failpoint.h"
#include "common/process/signals.h"
#include "common/process/standard_streams.h"
#include "common/status.h"
#include "pipeline/formats/idx_reader.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/open_dataset.h"
#include "scaling_manager/commands/certificates_command.h"
#include "scaling_manager/commands/command_line.h"
#include "scaling_manager/commands/dataset_command.h"
#include "scaling_manager/commands/run_status.h"
#include "scaling_manager/commands/simulate_command.h"
#include "scaling_manager/commands/train_command.h"
#include "scaling_manager/commands/watch_command.h"
#include "scaling_manager/coordinator/run_files.h"
#include "scaling_manager/views/round_history.h"
#include "scaling_manager/views/time_report.h"
#include "scaling_manager/views/time_report_text.h"

namespace gandem {
namespace {

constexpr absl::Duration kStatusTimeout = absl::Seconds(3);

// Says what went wrong, if anything. Returns the exit code.
int End(const absl::Status& status, const char* command = "gandem") {
  // Messages hold names of files and texts of servers.
  if (!status.ok()) {
    std::cerr << command << ": " << PrintableText(status.message()) << "\n";
  }
  return ExitCodeOf(status);
}

int Run(const NoCommand& command) { return command.exit_code; }

int Run(const TrainOptions& options) {
  // Before any thread starts; a closed pipe is a failed write, not the end.
  BlockSignals(kTrainSignals);
  BlockSignals({SIGPIPE});
  const auto exit_code = RunTrain(options, STDOUT_FILENO);
  return exit_code.ok() ? *exit_code : End(exit_code.status());
}

int Run(const StatusOptions& options) {
  const auto status = GetRunStatus(options.run_dir, options.certificates,
                                   MonotonicNow() + kStatusTimeout);
  if (!status.ok()) return End(status.status());
  std::cout << (options.json ? RunStatusJson(*status) + "\n"
                             : RunStatusText(options.run_dir, *status));
  return kExitOk;
}

// 0 where the dataset is not on this machine.
int64_t DatasetImages(const DataConfig& data) {
  int64_t images = 0;
  if (data.source().empty()) {
    const auto shape = ReadIdxShape(data.idx_images(), /*num_dimensions=*/3);
    if (!shape.ok()) return 0;
    images = shape->front();
  } else {
    // A report waits for no network.
    if (IsUrl(data.source())) return 0;
    const auto source = OpenImages(data);
    if (!source.ok()) return 0;
    images = (*source)->size();
  }
  return data.max_images() > 0 ? std::min(images, data.max_images()) : images;
}

absl::StatusOr<TimeReport> ReportOf(const std::string& run_dir) {
  const std::string config_path = run_dir + "/config.textproto";
  if (!PathExists(config_path)) {
    return absl::NotFoundError(absl::StrCat(
        "'", run_dir, "' holds no run (there is no config.textproto); `gandem ",
        "train RECIPE --run_dir ", run_dir, "` makes one"));
  }
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          LoadRunConfig(config_path, {}));
  RunFacts facts = {.name = config.name(),
                    .generator_batch = StepBatch(config.generator()),
                    .discriminator_batch = StepBatch(config.discriminator()),
                    .dataset_images = DatasetImages(config.data())};
  if (config.schedule().feedback() == ScheduleConfig::FUSED) {
    facts.fused_backward =
        ScheduleConfig::FusedBackward_Name(FusedBackwardOf(config));
  }
  GANDEM_ASSIGN_OR_RETURN(facts.workers, ReadRunWorkers(run_dir));
  GANDEM_ASSIGN_OR_RETURN(const RoundHistory history,
                          RoundHistory::Read(run_dir));
  absl::StatusOr<TimeReport> report = MakeTimeReport(facts, history);
  if (!report.ok()) return Annotate(report.status(), run_dir);
  report->run_dir = run_dir;
  return report;
}

// Reads files only, so it works beside a training and after it.
int Run(const ReportOptions& options) {
  std::vector<TimeReport> reports;
  for (const std::string& run_dir : options.run_dirs) {
    absl::StatusOr<TimeReport> report = ReportOf(run_dir);
    if (!report.ok()) return End(report.status(), "gandem report");
    reports.push_back(*std::move(report));
  }
  std::cout << (options.json          ? TimeReportsJson(reports)
                : reports.size() == 1 ? TimeReportText(reports.front())
                                      : ScalingText(reports));
  return kExitOk;
}

int Run(const WatchOptions& options) {
  return End(RunWatch(options, stdout), "gandem watch-eval");
}

int Run(const CertificatesOptions& options) {
  return End(RunCertificates(options, std::cout), "gandem certificates");
}

int Run(const EvaluationOptions& options) {
  const auto folder = BinaryFolder();
  if (!folder.ok()) return End(folder.status());
  const std::string binary = *folder + "/evaluation_job";
  std::vector<std::string> arguments = {binary};
  arguments.insert(arguments.end(), options.arguments.begin(),
                   options.arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(binary.c_str(), pointers.data());
  return End(FileError(errno, "cannot execute", binary));
}

int Run(const DatasetOptions& options) {
  if (options.action == DatasetAction::kShow) {
    return End(ShowDataset(options, std::cout, std::cerr),
               "gandem dataset show");
  }
  if (options.action == DatasetAction::kPack) {
    BlockSignals({SIGINT, SIGTERM});
    return End(PackDataset(options, std::cout, std::cerr),
               "gandem dataset pack");
  }
  const auto exit_code = VerifyDataset(options, std::cout, std::cerr);
  return exit_code.ok() ? *exit_code
                        : End(exit_code.status(), "gandem dataset verify");
}

int Run(const SimulateOptions& options) {
  return End(SimulatePipeline(options, std::cout), "gandem simulate pipeline");
}

int Run(const ExplainOptions& options) {
  if (options.field.empty()) {
    for (const std::string& field : AllFields()) std::cout << field << "\n";
    return kExitOk;
  }
  const auto text = ExplainField(options.field);
  if (!text.ok()) return End(text.status());
  std::cout << *text;
  if (!text->empty() && text->back() != '\n') std::cout << "\n";
  return kExitOk;
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  gandem::OpenStandardStreams();
  gandem::IgnoreFileSizeSignal();
  gandem::PrepareDescriptors();
  const absl::Status armed = gandem::ArmFailpointFromEnvironment("gandem");
  if (!armed.ok()) return gandem::End(armed);
  const gandem::Command command =
      gandem::ParseCommandLine(argc, argv, std::cout, std::cerr);
  return std::visit([](const auto& chosen) { return gandem::Run(chosen); },
                    command);
}
