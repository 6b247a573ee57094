// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/watch_command.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/process/binary_folder.h"
#include "common/process/child_process.h"
#include "common/process/exit_code.h"
#include "common/results/run_folder.h"
#include "common/status.h"
#include "control_plane/coordinator/evaluation_snapshots.h"

namespace gandem {
namespace {

constexpr absl::Duration kLookInterval = absl::Milliseconds(200);
constexpr int kEvaluationTailLines = 10;

class WatchCommand {
 public:
  WatchCommand(const WatchOptions& options, std::string program, int64_t rounds,
               FILE* out)
      : options_(options),
        program_(std::move(program)),
        log_(options.run_dir + "/logs/evaluation.log"),
        snapshots_(options.run_dir, options.every, rounds),
        out_(out) {}

  absl::Status Run();

 private:
  absl::Status Start(int64_t step);
  absl::Status OnEnd(int64_t step, const ProcessEnd& end);
  absl::Status ShowCard(int64_t step);
  static void Complain(const std::string& line) {
    absl::FPrintF(stderr, "gandem watch-eval: %s\n", line);
  }
  void Say(const std::string& line) {
    absl::FPrintF(out_, "%s\n", line);
    std::fflush(out_);
  }

  const WatchOptions options_;
  const std::string program_;  // path of `gandem`
  const std::string log_;
  EvaluationSnapshots snapshots_;
  FILE* const out_;
  std::optional<ChildProcess> child_;
};

absl::Status WatchCommand::Start(int64_t step) {
  std::vector<std::string> arguments = {program_, "evaluate",
                                        snapshots_.PathOf(step)};
  arguments.insert(arguments.end(), options_.evaluate_arguments.begin(),
                   options_.evaluate_arguments.end());
  auto child = ChildProcess::Start(
      {.arguments = std::move(arguments), .log_path = log_});
  GANDEM_RETURN_IF_ERROR(child);
  child_.emplace(*std::move(child));
  return absl::OkStatus();
}

absl::Status WatchCommand::ShowCard(int64_t step) {
  const auto card = ReadMetricCard(CardPathOf(child_->LogTail(1)));
  if (!card.ok()) {
    return Annotate(card.status(), absl::StrCat("the card of step ", step,
                                                " (see ", log_, ")"));
  }
  const auto append = [](std::string* line, const Metric& metric) {
    absl::StrAppend(line, metric.name(), " ", MetricValueText(metric));
  };
  Say(absl::StrCat("round ", card->images().generator().step(), ": ",
                   absl::StrJoin(card->metrics(), ", ", append)));
  return absl::OkStatus();
}

absl::Status WatchCommand::OnEnd(int64_t step, const ProcessEnd& end) {
  const std::string text = absl::StrCat(
      "the evaluation of step ", step, " ", end.description, "; its log is ",
      log_, " and ends with\n", child_->LogTail(kEvaluationTailLines));
  // The same arguments would fail for every checkpoint.
  if (end.exit_code == kExitUsage) return absl::InvalidArgumentError(text);
  if (end.exit_code == kExitOk) {
    GANDEM_RETURN_IF_ERROR(ShowCard(step));
    snapshots_.queue().Finish(step);
  } else if (snapshots_.queue().Retry(step)) {
    Complain(text);
    return absl::OkStatus();
  } else {
    Complain(absl::StrCat(text, "\nstep ", step, " is left out"));
  }
  return snapshots_.Remove(step);
}

absl::Status WatchCommand::Run() {
  GANDEM_ASSIGN_OR_RETURN(const RunLock lock,
                          RunFolder(options_.run_dir).LockForWatch());
  GANDEM_RETURN_IF_ERROR(CreateDirectories(options_.run_dir + "/logs"));
  while (true) {
    GANDEM_RETURN_IF_ERROR(snapshots_.KeepDue());
    GANDEM_RETURN_IF_ERROR(snapshots_.RemoveStale());
    const std::optional<int64_t> next = snapshots_.queue().Next();
    if (child_.has_value()) {
      const std::optional<ProcessEnd> end = child_->Poll();
      if (end.has_value()) {
        GANDEM_RETURN_IF_ERROR(OnEnd(*next, *end));
        child_.reset();
        continue;
      }
    } else if (next.has_value()) {
      GANDEM_RETURN_IF_ERROR(Start(*next));
    } else if (options_.once || snapshots_.queue().complete()) {
      return absl::OkStatus();
    }
    absl::SleepFor(kLookInterval);
  }
}

}  // namespace

absl::Status RunWatch(const WatchOptions& options, FILE* out) {
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          RunFolder(options.run_dir).ReadConfig());
  GANDEM_ASSIGN_OR_RETURN(const std::string folder, BinaryFolder());
  return WatchCommand(options, folder + "/gandem", config.rounds(), out).Run();
}

}  // namespace gandem
