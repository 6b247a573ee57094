// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/train_command.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/bind_front.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/cores.h"
#include "common/process/exit_code.h"
#include "common/process/log.h"
#include "common/process/machine.h"
#include "common/process/signals.h"
#include "common/programs/core_plan.h"
#include "common/results/run_folder.h"
#include "common/security/refusals.h"
#include "common/stalls/exit_deadline.h"
#include "common/stalls/file_patience.h"
#include "common/status.h"
#include "control_plane/commands/control_endpoint.h"
#include "control_plane/commands/open_run.h"
#include "control_plane/commands/run_credentials.h"
#include "control_plane/commands/training_watcher.h"
#include "control_plane/commands/user_wishes.h"
#include "control_plane/coordinator/control_service.h"
#include "control_plane/launch/launcher.h"
#include "control_plane/monitoring/metrics_endpoint.h"
#include "control_plane/views/console.h"
#include "control_plane/views/metrics_writer.h"
#include "control_plane/views/progress.h"
#include "control_plane/views/record_order.h"
#include "scaling_manager/profiler/profile_command.h"

namespace gandem {
namespace {

constexpr absl::Duration kLoopInterval = absl::Milliseconds(50);
// Time for workers to exit at the end of a run, granted again after SIGTERM. A
// shorter control.grace_seconds applies instead. Chosen.
constexpr absl::Duration kMaxLeaveTime = absl::Seconds(10);
// Time from a second Ctrl-C, or the end of the run, to the end of the process.
constexpr absl::Duration kMaxEndTime = absl::Seconds(10);
constexpr absl::Duration kMetricsErrorInterval = absl::Minutes(1);
constexpr int kExitAtOnce = 128 + SIGINT;
constexpr char kLog[] = "/logs/gandem.log";

class TrainCommand {
 public:
  TrainCommand(const TrainOptions& options, RunSetup setup, int out)
      : options_(options),
        setup_(std::move(setup)),
        console_(out, isatty(out) != 0, setup_.run_dir + kLog),
        progress_(StepBatch(setup_.config->generator())) {}

  absl::StatusOr<int> Run();

 private:
  absl::Status Start();
  // Starts the workers. With --external, prints the commands to start them.
  absl::Status StartWorkers();
  void OnMetrics(const HeartbeatRequest& request, int64_t first_round);
  // Polls child processes, timers, signals and output once.
  void Turn();
  void PlaceWorkers(Launcher::Options& options);
  absl::Status StartWatcher();
  absl::Status StartMonitoring();
  StatusReply CompleteStatus(StatusReply reply) const;
  // Waits for the last evaluation. Returns false if the user wants to exit.
  bool LetWatcherFinish();
  // Waits for the workers' exits. Returns false if the user wants to exit.
  bool LetWorkersLeave(const RunOutcome& outcome);
  bool WaitUntilGone(absl::Duration time);
  // Called on the signal thread.
  void OnSignal(int signal);
  // Ends the process after `time`, even if the run folder's disk hangs.
  void EndWithin(absl::Duration time, int exit_code) {
    end_.Set(time, exit_code,
             absl::StrCat("gandem: it has not ended in time, the disk of ",
                          setup_.run_dir, " may not answer: exiting"));
  }
  void Say(const std::string& line);
  void Say(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) Say(line);
  }
  void SayIfFailed(const absl::Status& done) {
    if (!done.ok()) Say(std::string(done.message()));
  }

  const TrainOptions options_;
  const RunSetup setup_;
  const RunFolder folder_{setup_.run_dir};
  const std::string trace_folder_ =
      options_.trace ? folder_.path() + "/trace" : "";
  Console console_;
  ProgressTracker progress_;
  UserWishes wishes_;
  absl::Time next_metrics_error_ = absl::InfinitePast();
  bool told_of_second_ = false;
  int64_t noted_epoch_ = 0;
  absl::Mutex mu_;
  int64_t metrics_epoch_ ABSL_GUARDED_BY(mu_) = 0;
  NewRecords new_records_ ABSL_GUARDED_BY(mu_);
  ExitDeadline end_;  // outlives members that a disk may hold up
  // Constructed in this order; each member may use the members above it.
  std::unique_ptr<MetricsWriter> metrics_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<MetricsEndpoint> monitoring_;  // or null
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

void TrainCommand::OnMetrics(const HeartbeatRequest& request,
                             int64_t first_round) {
  {
    absl::MutexLock lock(&mu_);
    if (request.run_epoch() > metrics_epoch_) {
      metrics_epoch_ = request.run_epoch();
      metrics_->BeginEpoch(first_round);
    }
  }
  for (const RoundMetrics& metrics : request.metrics()) {
    {
      absl::MutexLock lock(&mu_);
      if (!new_records_.Note(metrics)) continue;
    }
    metrics_->Add(metrics);
    progress_.AddMetrics(metrics);
    if (monitoring_ != nullptr) monitoring_->Add(metrics);
  }
}

absl::Status TrainCommand::Start() {
  const FilePatience patience("gandem train");
  Say(setup_.notices);
  GANDEM_RETURN_IF_ERROR(TakeRunCredentials(
      setup_.run_dir, options_.certificates, options_.insecure_network));
  if (options_.insecure_network) {
    Say("--insecure_network: connections between hosts are not encrypted. "
        "Whoever listens in can read and change them, and join the run.");
  }
  GANDEM_RETURN_IF_ERROR(folder_.RemoveFailure());
  GANDEM_ASSIGN_OR_RETURN(metrics_, MetricsWriter::Open(setup_.run_dir));
  GANDEM_RETURN_IF_ERROR(StartWatcher());
  GANDEM_ASSIGN_OR_RETURN(coordinator_,
                          Coordinator::Create(setup_.coordinator));
  if (coordinator_->outcome().has_value()) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(StartMonitoring());
  service_.emplace(
      coordinator_.get(),
      ControlService::Observer{
          .on_metrics = absl::bind_front(&TrainCommand::OnMetrics, this),
          .complete_status = [this](StatusReply& reply) {
            reply = CompleteStatus(std::move(reply));
          }});
  GANDEM_ASSIGN_OR_RETURN(endpoint_,
                          ControlEndpoint::Open({.run_dir = setup_.run_dir,
                                                 .listen = options_.listen,
                                                 .external = options_.external},
                                                &*service_));
  return StartWorkers();
}

absl::Status TrainCommand::StartWorkers() {
  if (!options_.external) {
    Launcher::Options options = {.program = setup_.program,
                                 .run_dir = setup_.run_dir,
                                 .control_address = endpoint_->address(),
                                 .credential_flags = CredentialFlags(),
                                 .trace_folder = trace_folder_,
                                 .log_format = options_.log_format,
                                 .start_by = options_.start_by};
    PlaceWorkers(options);
    launcher_.emplace(std::move(options), coordinator_.get());
    return absl::OkStatus();
  }
  Say("start the workers, or let them come back:");
  for (const auto& [worker, threads] : setup_.threads) {
    GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> command,
                            WorkerCommand(setup_.program, worker.role));
    Say(absl::StrCat("  ", absl::StrJoin(command, " "), " --control ",
                     endpoint_->address(), " --rank ", worker.rank, " ",
                     absl::StrJoin(CredentialFlags(), " "),
                     options_.log_format == "text" ? "" : " --log_format json",
                     options_.trace ? " --trace " : "", trace_folder_));
  }
  return absl::OkStatus();
}

StatusReply TrainCommand::CompleteStatus(StatusReply reply) const {
  progress_.Complete(reply);
  reply.set_refused_connections(NumRefusals());
  if (monitoring_ != nullptr) {
    reply.set_metrics_address(monitoring_->address());
  }
  return reply;
}

absl::Status TrainCommand::StartMonitoring() {
  if (options_.metrics_listen.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(
      monitoring_,
      MetricsEndpoint::Start({.listen = options_.metrics_listen,
                              .run_dir = setup_.run_dir,
                              .status = [this] {
                                return CompleteStatus(coordinator_->Status());
                              }}));
  Say(absl::StrCat("Prometheus reads this run at http://",
                   monitoring_->address(), "/metrics"));
  return absl::OkStatus();
}

void TrainCommand::PlaceWorkers(Launcher::Options& options) {
  if (options_.elsewhere() || setup_.threads.size() < 2) return;
  for (const auto& [worker, count] : setup_.threads) {
    options.threads_per_core += count;
  }
  options.threads_per_core /= UsableCores();
  if (!options_.bind_cores) return;
  auto cores = PlanCores(ReadMachine(AllowedCores()), setup_.threads);
  if (cores.ok()) {
    GANDEM_LOG_INFO("cores: {}", ToString(*cores));
    options.cores = *std::move(cores);
  } else {
    Say(absl::StrCat("workers are not bound to cores: ",
                     cores.status().message()));
  }
}

absl::Status TrainCommand::StartWatcher() {
  if (options_.evaluate_every == 0) return absl::OkStatus();
  const TrainingWatcher::Options options = {
      .binary_folder = setup_.program.binary_folder,
      .run_dir = setup_.run_dir,
      .every = options_.evaluate_every,
      .cores = setup_.evaluate_cores,
      .arguments = options_.evaluate_args,
      .python = setup_.program.python};
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

void TrainCommand::Turn() {
  if (launcher_.has_value()) {
    for (const auto& failure : launcher_->Poll()) Say(ToLines(failure));
  }
  const std::string stop_reason = wishes_.stop_reason();
  if (!stop_reason.empty()) coordinator_->RequestStop(stop_reason);
  Say(coordinator_->Tick());
  if (wishes_.interrupted() && !coordinator_->outcome().has_value() &&
      !std::exchange(told_of_second_, true)) {
    Say("this ends with a checkpoint; a second Ctrl-C exits at once, without "
        "one");
  }
  if (watcher_.has_value()) Say(watcher_->Poll());
  Say(progress_.TakeWarnings());
  StatusReply status = coordinator_->Status();
  const absl::Time now = MonotonicNow();
  if (now >= next_metrics_error_) {
    const absl::Status error =
        Annotate(metrics_->TakeError(), "metrics are missing");
    if (!error.ok()) next_metrics_error_ = now + kMetricsErrorInterval;
    SayIfFailed(error);
  }
  progress_.Observe(now, status.run_epoch(), status.completed_rounds());
  if (status.state() == StatusReply::RUNNING &&
      std::exchange(noted_epoch_, status.run_epoch()) != status.run_epoch()) {
    SayIfFailed(folder_.WriteWorkers(status));  // for `gandem report`
  }
  const bool is_over = coordinator_->outcome().has_value();
  if (!is_over) console_.ShowProgress(progress_.View(std::move(status)), now);
  console_.Flush();
  wishes_.Wait(now + kLoopInterval);
}

void TrainCommand::OnSignal(int signal) {
  wishes_.OnSignal(signal);
  // Allow for two grace periods, a commit, and three ways to stop workers.
  EndWithin(wishes_.at_once() ? kMaxEndTime
                              : 3 * setup_.coordinator.epoch.grace +
                                    3 * kMaxLeaveTime + kMaxEndTime,
            wishes_.at_once() ? kExitAtOnce : kExitResumable);
}

bool TrainCommand::WaitUntilGone(absl::Duration time) {
  const auto is_gone = [this] {
    return launcher_.has_value() ? launcher_->empty()
                                 : coordinator_->outcome()->is_known_to_all;
  };
  const absl::Time deadline = MonotonicNow() + time;
  while (!is_gone() && MonotonicNow() < deadline && !wishes_.at_once()) Turn();
  return is_gone();
}

bool TrainCommand::LetWorkersLeave(const RunOutcome& outcome) {
  const absl::Duration time =
      std::min(kMaxLeaveTime, setup_.coordinator.epoch.grace);
  bool gone = WaitUntilGone(time);
  if (!gone && launcher_.has_value() && !wishes_.at_once()) {
    Say("some workers do not exit: sending them SIGTERM");
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
                   [this](int signal) { OnSignal(signal); });
  GANDEM_RETURN_IF_ERROR(Start());
  while (!coordinator_->outcome().has_value() && !wishes_.at_once()) Turn();
  if (!coordinator_->outcome().has_value()) return kExitAtOnce;
  const RunOutcome outcome = *coordinator_->outcome();
  if (outcome.state == StatusReply::FAILED) {  // for `gandem status`, later
    SayIfFailed(folder_.WriteFailure(outcome.detail));
  }
  console_.ShowProgress(progress_.View(coordinator_->Status()), MonotonicNow(),
                        /*at_once=*/true);
  Say(coordinator_->Tick());
  if (endpoint_ != nullptr && !LetWorkersLeave(outcome)) return kExitAtOnce;
  if (outcome.exit_code == kExitOk && LetWatcherFinish()) {
    const std::string samples = setup_.run_dir + "/samples";
    Say(absl::StrCat(PathExists(samples)
                         ? "see " + samples
                         : "make images with gandem sample " + setup_.run_dir,
                     "; tensorboard --logdir ", setup_.run_dir,
                     "/tensorboard"));
  } else if (outcome.exit_code == kExitResumable) {
    Say(coordinator_->Status().last_checkpoint_step() == 0
            ? "the same command begins again"
            : "the same command resumes from there");
  }
  EndWithin(kMaxEndTime, outcome.exit_code);
  return outcome.exit_code;
}

}  // namespace

absl::StatusOr<int> RunTrain(const TrainOptions& options, int out) {
  GANDEM_ASSIGN_OR_RETURN(
      RunSetup setup, PrepareRun(options, [&](const RunConfig& recipe,
                                              const std::string& folder) {
        return MeasureProfile(recipe, options.python, folder);
      }));
  // Set before threads start, so that threads and workers inherit the cores.
  if (!setup.evaluate_cores.empty()) {
    GANDEM_RETURN_IF_ERROR(
        RunOnCores(CoresWithout(AllowedCores(), setup.evaluate_cores)));
  }
  {
    const FilePatience patience("gandem train");
    GANDEM_RETURN_IF_ERROR(InitLogging({.role = "gandem",
                                        .format = options.log_format,
                                        .file = setup.run_dir + kLog,
                                        .to_stderr = false}));
  }
  return TrainCommand(options, std::move(setup), out).Run();
}

}  // namespace gandem
