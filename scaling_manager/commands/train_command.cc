// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/train_command.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/cores.h"
#include "common/process/exit_code.h"
#include "common/process/log.h"
#include "common/process/signals.h"
#include "common/rpc/socket_folder.h"
#include "common/security/refusals.h"
#include "common/status.h"
#include "scaling_manager/commands/control_endpoint.h"
#include "scaling_manager/commands/open_run.h"
#include "scaling_manager/commands/run_credentials.h"
#include "scaling_manager/commands/training_watcher.h"
#include "scaling_manager/commands/user_wishes.h"
#include "scaling_manager/coordinator/control_service.h"
#include "scaling_manager/coordinator/run_files.h"
#include "scaling_manager/launch/core_plan.h"
#include "scaling_manager/launch/launcher.h"
#include "scaling_manager/views/console.h"
#include "scaling_manager/views/metrics_writer.h"
#include "scaling_manager/views/progress.h"

namespace gandem {
namespace {

constexpr absl::Duration kLoopInterval = absl::Milliseconds(50);
// When a run is over, workers have this long to leave, and as long again after
// SIGTERM; less if control.grace_seconds is less.
constexpr absl::Duration kMaxLeaveTime = absl::Seconds(10);
constexpr absl::Duration kMetricsErrorInterval = absl::Minutes(1);
constexpr absl::Duration kMendInterval = absl::Seconds(2);
constexpr absl::Duration kMendErrorInterval = absl::Minutes(1);
constexpr int kExitAtOnce = 128 + SIGINT;

std::string LogPath(const std::string& run_dir) {
  return run_dir + "/logs/gandem.log";
}

class TrainCommand {
 public:
  TrainCommand(const TrainOptions& options, RunSetup setup, int out)
      : options_(options),
        setup_(std::move(setup)),
        console_(out, isatty(out) != 0, LogPath(setup_.run_dir)),
        progress_(setup_.images_per_round) {}

  absl::StatusOr<int> Run();

 private:
  absl::Status Start();
  std::string TraceFolder() const {
    return options_.trace ? setup_.run_dir + "/trace" : "";
  }
  // For `gandem report`: who takes part in the run epoch.
  void NoteWorkers(const StatusReply& status);
  // For `gandem status`, when this process is gone.
  void NoteFailure(const RunOutcome& outcome);
  void OnMetrics(const HeartbeatRequest& request);
  // One turn: processes, time, signals, and what there is to show.
  void Turn();
  // Empty: the operating system places them.
  WorkerCores PlaceWorkers();
  absl::Status StartWatcher(const std::string& binaries);
  // Until the last checkpoint is judged; false: the user wants to leave.
  bool LetWatcherFinish();
  // Until the workers are gone; false: the user wants to leave at once.
  bool LetWorkersLeave(const RunOutcome& outcome);
  bool WaitUntilGone(absl::Duration time);
  bool Gone();
  void ShowFailure(const Launcher::Failure& failure);
  void ShowLogTail(const std::string& log_tail);
  void ShowMetricsError();
  void MendWhatIsGone(absl::Time now);
  void SayWhatASecondCtrlCDoes();
  void Say(const std::string& line);
  void Say(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) Say(line);
  }

  const TrainOptions options_;
  RunSetup setup_;
  Console console_;
  ProgressTracker progress_;
  UserWishes wishes_;
  absl::Time metrics_error_shown_ = absl::InfinitePast();
  absl::Time next_mend_ = absl::InfinitePast();
  bool told_of_second_ = false;
  int64_t noted_epoch_ = 0;
  absl::Mutex mu_;
  int64_t metrics_epoch_ ABSL_GUARDED_BY(mu_) = 0;
  // In order of construction; each uses those above it.
  std::unique_ptr<MetricsWriter> metrics_;
  std::unique_ptr<Coordinator> coordinator_;
  std::optional<ControlService> service_;
  std::unique_ptr<ControlEndpoint> endpoint_;
  std::optional<Launcher> launcher_;        // not with --external
  std::optional<TrainingWatcher> watcher_;  // with --evaluate_every
  std::optional<SignalThread> signals_;
};

void TrainCommand::Say(const std::string& line) {
  console_.PrintLine(line);
  GANDEM_LOG_INFO("{}", line);
}

void TrainCommand::OnMetrics(const HeartbeatRequest& request) {
  {
    absl::MutexLock lock(&mu_);
    if (request.run_epoch() > metrics_epoch_) {
      metrics_epoch_ = request.run_epoch();
      const int64_t first_round = coordinator_->Status().first_round();
      metrics_->BeginEpoch(first_round >= 0 ? first_round
                                            : request.metrics(0).round());
    }
  }
  for (const RoundMetrics& metrics : request.metrics()) {
    metrics_->Add(metrics);
    progress_.AddMetrics(metrics);
  }
}

absl::Status TrainCommand::Start() {
  Say(setup_.notices);
  GANDEM_RETURN_IF_ERROR(TakeRunCredentials(
      setup_.run_dir, options_.certificates, options_.insecure_network));
  GANDEM_RETURN_IF_ERROR(RemoveRunFailure(setup_.run_dir));
  GANDEM_ASSIGN_OR_RETURN(metrics_, MetricsWriter::Open(setup_.run_dir));
  GANDEM_ASSIGN_OR_RETURN(std::string binaries, BinaryFolder());
  GANDEM_RETURN_IF_ERROR(StartWatcher(binaries));
  GANDEM_ASSIGN_OR_RETURN(coordinator_,
                          Coordinator::Create(setup_.coordinator));
  if (coordinator_->outcome().has_value()) return absl::OkStatus();
  service_.emplace(
      coordinator_.get(),
      ControlService::Observer{
          .on_metrics = [this](const auto& request) { OnMetrics(request); },
          .complete_status =
              [this](StatusReply& reply) {
                progress_.Complete(reply);
                reply.set_refused_connections(NumRefusals());
              }});
  GANDEM_ASSIGN_OR_RETURN(endpoint_,
                          ControlEndpoint::Open({.run_dir = setup_.run_dir,
                                                 .listen = options_.listen,
                                                 .external = options_.external},
                                                &*service_));
  if (!options_.external) {
    launcher_.emplace(Launcher::Options{.binary_folder = std::move(binaries),
                                        .run_dir = setup_.run_dir,
                                        .control_address = endpoint_->address(),
                                        .credential_flags = CredentialFlags(),
                                        .trace_folder = TraceFolder(),
                                        .cores = PlaceWorkers()},
                      coordinator_.get());
    return absl::OkStatus();
  }
  Say("start the workers, or let them come back:");
  const StatusReply status = coordinator_->Status();
  for (const WorkerStatus& worker : status.workers()) {
    Say(absl::StrCat("  ", binaries, "/", WorkerBinary(worker.role()),
                     " --control ", endpoint_->address(), " --rank ",
                     worker.rank(), " ", absl::StrJoin(CredentialFlags(), " "),
                     options_.trace ? " --trace " : "", TraceFolder()));
  }
  return absl::OkStatus();
}

WorkerCores TrainCommand::PlaceWorkers() {
  if (!options_.bind_cores || setup_.threads.size() < 2) return {};
  const auto cores = PlanCores(ReadMachine(AllowedCores()), setup_.threads);
  if (!cores.ok()) {
    Say(absl::StrCat("workers are not bound to cores: ",
                     cores.status().message()));
    return {};
  }
  GANDEM_LOG_INFO("cores: {}", ToString(*cores));
  return *cores;
}

absl::Status TrainCommand::StartWatcher(const std::string& binaries) {
  if (options_.evaluate_every == 0) return absl::OkStatus();
  const TrainingWatcher::Options options = {
      .binary_folder = binaries,
      .run_dir = setup_.run_dir,
      .every = options_.evaluate_every,
      .cores = setup_.evaluate_cores,
      .arguments = options_.evaluate_args};
  GANDEM_RETURN_IF_ERROR(TrainingWatcher::CheckArguments(options));
  GANDEM_ASSIGN_OR_RETURN(TrainingWatcher watcher,
                          TrainingWatcher::Start(options));
  watcher_.emplace(std::move(watcher));
  return absl::OkStatus();
}

bool TrainCommand::LetWatcherFinish() {
  if (!watcher_.has_value() || !watcher_->running()) return true;
  Say("waiting for the evaluation of the last checkpoints; Ctrl-C leaves them "
      "to `gandem watch-eval`");
  while (watcher_->running()) {
    if (!wishes_.stop_reason().empty()) return false;
    Say(watcher_->Poll());
    console_.Flush();
    wishes_.Wait(MonotonicNow() + kLoopInterval);
  }
  return true;
}

void TrainCommand::ShowFailure(const Launcher::Failure& failure) {
  Say(absl::StrCat(ToString(failure.key), " ", failure.end.description,
                   "; its log is ", failure.log_path,
                   failure.log_tail.empty() ? "" : " and ends with"));
  if (!failure.log_tail.empty()) ShowLogTail(failure.log_tail);
  if (!failure.advice.empty()) Say(failure.advice);
}

void TrainCommand::ShowLogTail(const std::string& log_tail) {
  std::string tail = log_tail;
  if (tail.back() == '\n') tail.pop_back();
  Say(absl::StrCat("  | ", absl::StrReplaceAll(tail, {{"\n", "\n  | "}})));
}

void TrainCommand::ShowMetricsError() {
  const absl::Status error = metrics_->TakeError();
  const absl::Time now = MonotonicNow();
  if (error.ok() || now - metrics_error_shown_ < kMetricsErrorInterval) return;
  metrics_error_shown_ = now;
  Say(absl::StrCat("metrics are missing: ", error.message()));
}

void TrainCommand::NoteWorkers(const StatusReply& status) {
  if (status.state() != StatusReply::RUNNING ||
      status.run_epoch() == noted_epoch_) {
    return;
  }
  noted_epoch_ = status.run_epoch();
  const absl::Status noted = WriteRunWorkers(setup_.run_dir, status);
  if (!noted.ok()) Say(std::string(noted.message()));
}

void TrainCommand::NoteFailure(const RunOutcome& outcome) {
  if (outcome.state != StatusReply::FAILED) return;
  const absl::Status noted = WriteRunFailure(setup_.run_dir, outcome.detail);
  if (!noted.ok()) Say(std::string(noted.message()));
}

void TrainCommand::Turn() {
  std::vector<Launcher::Failure> failures;
  if (launcher_.has_value()) failures = launcher_->Poll();
  const std::string stop_reason = wishes_.stop_reason();
  if (!stop_reason.empty()) coordinator_->RequestStop(stop_reason);
  for (const Launcher::Failure& failure : failures) ShowFailure(failure);
  Say(coordinator_->Tick());
  SayWhatASecondCtrlCDoes();
  if (watcher_.has_value()) Say(watcher_->Poll());
  ShowMetricsError();
  StatusReply status = coordinator_->Status();
  const absl::Time now = MonotonicNow();
  MendWhatIsGone(now);
  progress_.Observe(now, status.run_epoch(), status.completed_rounds());
  NoteWorkers(status);
  const bool is_over = coordinator_->outcome().has_value();
  if (!is_over) console_.ShowProgress(progress_.View(std::move(status)), now);
  console_.Flush();
  wishes_.Wait(now + kLoopInterval);
}

// Others clean /tmp, or remove state/ by mistake.
void TrainCommand::MendWhatIsGone(absl::Time now) {
  if (now < next_mend_ || endpoint_ == nullptr) return;
  next_mend_ = now + kMendInterval;
  if (!PathExists(setup_.run_dir)) return;
  const absl::Status lock = setup_.lock.Mend();
  // Somebody who is about to be refused holds it for a moment.
  const bool lock_is_well = lock.ok() || absl::IsAlreadyExists(lock);
  const absl::StatusOr<bool> token = MendToken(setup_.run_dir);
  const absl::StatusOr<bool> mended =
      token.ok() ? endpoint_->Mend() : token.status();
  if (mended.ok() && (*mended || *token)) {
    Say(absl::StrCat("somebody has removed the socket or ", setup_.run_dir,
                     "/state: listening at ", endpoint_->address(), " again"));
  }
  if (mended.ok() && lock_is_well) return;
  next_mend_ = now + kMendErrorInterval;
  Say(absl::StrCat(
      "somebody has removed the socket or ", setup_.run_dir,
      "/state, and it cannot be made again: ",
      mended.ok() ? lock.message() : mended.status().message(),
      "; the training goes on, but workers and `gandem status` may not find ",
      "it"));
}

void TrainCommand::SayWhatASecondCtrlCDoes() {
  if (!wishes_.interrupted() || coordinator_->outcome().has_value()) return;
  if (std::exchange(told_of_second_, true)) return;
  Say("this ends with a checkpoint; a second Ctrl-C leaves at once, without "
      "one");
}

bool TrainCommand::Gone() {
  return launcher_.has_value() ? launcher_->empty()
                               : coordinator_->outcome()->is_known_to_all;
}

bool TrainCommand::WaitUntilGone(absl::Duration time) {
  const absl::Time deadline = MonotonicNow() + time;
  while (!Gone() && MonotonicNow() < deadline && !wishes_.at_once()) Turn();
  return Gone();
}

bool TrainCommand::LetWorkersLeave(const RunOutcome& outcome) {
  const absl::Duration time = std::min(kMaxLeaveTime, setup_.coordinator.grace);
  bool gone = WaitUntilGone(time);
  if (!gone && launcher_.has_value() && !wishes_.at_once()) {
    Say("some workers do not leave: sending them SIGTERM");
    launcher_->SignalAll(SIGTERM);
    gone = WaitUntilGone(time);
  }
  if (!gone && launcher_.has_value()) {
    launcher_->SignalAll(SIGKILL);
    gone = WaitUntilGone(kMaxLeaveTime);
  }
  if (!gone && outcome.exit_code == kExitOk) {
    Say("some workers were not told that the run is over");
  }
  return !wishes_.at_once();
}

absl::StatusOr<int> TrainCommand::Run() {
  signals_.emplace(SignalsToHear(kTrainSignals),
                   [this](int signal) { wishes_.OnSignal(signal); });
  GANDEM_RETURN_IF_ERROR(Start());
  while (!coordinator_->outcome().has_value() && !wishes_.at_once()) Turn();
  if (!coordinator_->outcome().has_value()) return kExitAtOnce;
  const RunOutcome outcome = *coordinator_->outcome();
  NoteFailure(outcome);
  console_.ShowProgress(progress_.View(coordinator_->Status()), MonotonicNow(),
                        /*at_once=*/true);
  Say(coordinator_->Tick());
  if (endpoint_ != nullptr && !LetWorkersLeave(outcome)) return kExitAtOnce;
  // A `gandem train` that was killed may have left nothing but its sockets.
  if (endpoint_ == nullptr) SocketFolder::RemoveAbandoned();
  if (outcome.exit_code == kExitOk && LetWatcherFinish()) {
    Say(progress_.Doubts());
    Say(absl::StrCat("see ", setup_.run_dir, "/samples and tensorboard ",
                     "--logdir ", setup_.run_dir, "/tensorboard"));
  } else if (outcome.exit_code == kExitResumable) {
    Say("the same command goes on from there");
  }
  return outcome.exit_code;
}

}  // namespace

absl::StatusOr<int> RunTrain(const TrainOptions& options, int out) {
  GANDEM_ASSIGN_OR_RETURN(RunSetup setup, PrepareRun(options));
  // Before threads start; the workers inherit it.
  if (!setup.evaluate_cores.empty()) {
    GANDEM_RETURN_IF_ERROR(
        RunOnCores(CoresWithout(AllowedCores(), setup.evaluate_cores)));
  }
  GANDEM_RETURN_IF_ERROR(InitLogging(
      {.role = "gandem", .file = LogPath(setup.run_dir), .to_stderr = false}));
  return TrainCommand(options, std::move(setup), out).Run();
}

}  // namespace gandem
