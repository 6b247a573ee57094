// SPDX-License-Identifier: Apache-2.0
//
// The `gandem` command: the one thing a user starts.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "common/config/explain.h"
#include "common/files/file.h"
#include "common/process/binary_folder.h"
#include "common/process/exit_code.h"
#include "common/process/failpoint.h"
#include "common/process/signals.h"
#include "scaling_manager/commands/command_line.h"
#include "scaling_manager/commands/report_command.h"
#include "scaling_manager/commands/run_status.h"
#include "scaling_manager/commands/train_command.h"
#include "scaling_manager/commands/watch_command.h"

namespace gandem {
namespace {

constexpr absl::Duration kStatusTimeout = absl::Seconds(3);

int Fail(const absl::Status& status) {
  std::cerr << "gandem: " << status.message() << "\n";
  return ExitCodeOf(status);
}

int Run(const NoCommand& command) { return command.exit_code; }

int Run(const TrainOptions& options) {
  // Before any thread starts; a closed pipe is a failed write, not the end.
  BlockSignals(kTrainSignals);
  BlockSignals({SIGPIPE});
  return RunTrain(options, stdout);
}

int Run(const StatusOptions& options) {
  const auto status =
      GetRunStatus(options.run_dir, absl::Now() + kStatusTimeout);
  if (!status.ok()) return Fail(status.status());
  std::cout << (options.json ? RunStatusJson(*status) + "\n"
                             : RunStatusText(options.run_dir, *status));
  return kExitOk;
}

int Run(const ReportOptions& options) { return RunReport(options, stdout); }

int Run(const WatchOptions& options) { return RunWatch(options, stdout); }

int Run(const EvaluationOptions& options) {
  const auto folder = BinaryFolder();
  if (!folder.ok()) return Fail(folder.status());
  const std::string binary = *folder + "/evaluation_job";
  std::vector<std::string> arguments = {binary};
  arguments.insert(arguments.end(), options.arguments.begin(),
                   options.arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(binary.c_str(), pointers.data());
  return Fail(FileError(errno, "cannot execute", binary));
}

int Run(const ExplainOptions& options) {
  if (options.field.empty()) {
    for (const std::string& field : AllFields()) std::cout << field << "\n";
    return kExitOk;
  }
  const auto text = ExplainField(options.field);
  if (!text.ok()) return Fail(text.status());
  std::cout << *text;
  if (!text->empty() && text->back() != '\n') std::cout << "\n";
  return kExitOk;
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  const absl::Status armed = gandem::ArmFailpointFromEnvironment("gandem");
  if (!armed.ok()) return gandem::Fail(armed);
  const gandem::Command command =
      gandem::ParseCommandLine(argc, argv, std::cout, std::cerr);
  return std::visit([](const auto& chosen) { return gandem::Run(chosen); },
                    command);
}
