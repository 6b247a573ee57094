// SPDX-License-Identifier: Apache-2.0
#include "worker/worker_main.h"

#include <malloc.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"
#include "common/control/control_client.h"
#include "common/files/nearest.h"
#include "common/matrix_tiles.h"
#include "common/monotonic_time.h"
#include "common/process/exit_code.h"
#include "common/process/failpoint.h"
#include "common/process/log.h"
#include "common/process/process_start.h"
#include "common/process/signals.h"
#include "common/process/wrapped_help.h"
#include "common/rpc/listen_check.h"
#include "common/security/credentials.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "common/trace/trace_writer.h"
#include "training/plan/run_plan.h"
#include "training/state/catch_torch.h"
#include "worker/profile/profile_mode.h"
#include "worker/state_handover.h"
#include "worker/worker_epoch.h"

namespace gandem {
namespace {

struct Flags {
  std::string control;
  int rank = 0;
  std::string run_dir;
  std::string token_file;
  std::string certificates;  // empty: the run's
  bool insecure_network = false;
  std::string exchange_listen;
  std::string fleet_listen;
  double register_timeout_seconds = 600;
  std::string log_level = "info";
  std::string log_format = "text";
  std::string trace;    // empty: no timeline
  std::string profile;  // address for `gandem profile`; empty: trains
};

// Returns the fault of `text` for CLI::Option::check; empty: none.
std::string CheckTimeout(const std::string& text) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds) && std::isfinite(seconds) &&
      seconds > 0) {
    return "";
  }
  return absl::StrCat("'", text, "' is no number of seconds above 0");
}

void DefineFlags(CLI::App& app, Role role, Flags& flags) {
  CLI::Option* const control =
      app.add_option("--control", flags.control,
                     "Address of the coordinator (gandem train prints it): "
                     "unix:PATH or HOST:PORT");
  CLI::Option* const profile =
      app.add_option("--profile", flags.profile,
                     "Measure instead of training: answers `gandem profile` "
                     "at this unix:PATH")
          ->excludes(control);
  app.callback([control, profile] {
    if (control->count() + profile->count() == 0) {
      throw CLI::RequiredError("--control");
    }
  });
  app.add_option("--rank", flags.rank, "Index in the fleet of this role")
      ->capture_default_str();
  app.add_option("--run_dir", flags.run_dir,
                 "Path of the run folder on this machine (default: the "
                 "coordinator's path)");
  app.add_option("--token_file", flags.token_file,
                 "File with the run's token; the run's certificates are beside "
                 "it (default: RUN_DIR/state/token, where --run_dir or the "
                 "socket of --control names the folder)");
  CLI::Option* const certificates =
      app.add_option("--certificates", flags.certificates, kCertificatesHelp);
  app.add_flag("--insecure_network", flags.insecure_network,
               kInsecureNetworkHelp)
      ->excludes(certificates);
  if (role == DISCRIMINATOR) {
    app.add_option("--listen", flags.exchange_listen,
                   "HOST:PORT for the exchange; default: a unix socket, for "
                   "generators on this machine");
  }
  if (role != COLOCATED) {
    app.add_option("--fleet_listen", flags.fleet_listen,
                   "HOST:PORT for the other workers of this role; default: a "
                   "unix socket, for those on this machine");
  }
  app.add_option("--register_timeout_seconds", flags.register_timeout_seconds,
                 "How long to look for the coordinator")
      ->check(CheckTimeout)
      ->capture_default_str();
  app.add_option("--log_level", flags.log_level, "debug, info, warn or error")
      ->capture_default_str();
  app.add_option("--log_format", flags.log_format,
                 "text, or json: an object a line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--trace", flags.trace,
                 absl::StrCat("Folder for a timeline of this worker, for "
                              "ui.perfetto.dev; at most ",
                              kMaxTraceBytes >> 20, " MiB"));
}

// Runs epochs until the run ends. The signal thread calls Stop().
class Worker {
 public:
  Worker(Role role, RoleFactories roles, Flags flags,
         std::unique_ptr<ControlClient> client)
      : role_(role),
        roles_(std::move(roles)),
        flags_(std::move(flags)),
        client_(std::move(client)) {}

  absl::StatusOr<ExitCode> Run() {
    while (true) {
      GANDEM_ASSIGN_OR_RETURN(
          RegisterReply assignment,
          client_->Register(
              MonotonicNow() + absl::Seconds(flags_.register_timeout_seconds),
              held_.has_value() ? std::optional(held_->completed_rounds)
                                : std::nullopt));
      UseLocalRunDir(assignment);
      GANDEM_ASSIGN_OR_RETURN(
          const EffectiveRunConfig config,
          EffectiveRunConfig::Parse(assignment.config_text(),
                                    "coordinator's config"));
      if (!assignment.keep_state()) held_.reset();
      GANDEM_LOG_INFO("run epoch {}, from round {}{}", assignment.run_epoch(),
                      assignment.first_round(), StartText(assignment));
      GANDEM_ASSIGN_OR_RETURN(
          const WorkerEpoch::Outcome outcome,
          RunEpoch(assignment, MakeRunPlan(OfEpoch(config, assignment),
                                           assignment.rollbacks())));
      switch (outcome) {
        case WorkerEpoch::Outcome::kRunComplete:
          return kExitOk;
        case WorkerEpoch::Outcome::kStopped:
          return kExitResumable;
        case WorkerEpoch::Outcome::kSuperseded:
          break;
      }
      GANDEM_LOG_INFO("run epoch {} is over", assignment.run_epoch());
    }
  }

  void Stop() {
    stop_ = true;
    absl::MutexLock lock(&mu_);
    if (epoch_ != nullptr) {
      epoch_->Wake();
    } else {
      cancelled_ = true;
      client_->Cancel();
    }
  }

 private:
  // Returns the config with this epoch's fleets, without absent workers.
  EffectiveRunConfig OfEpoch(const EffectiveRunConfig& config,
                             const RegisterReply& assignment) const {
    if (role_ == COLOCATED) return config;
    return config.WithWorkers(assignment.generators(),
                              assignment.discriminators());
  }

  static std::string StartText(const RegisterReply& assignment) {
    if (assignment.keep_state()) {
      return absl::StrCat(" as worker ", assignment.position(), " of ",
                          assignment.generators(), " generators and ",
                          assignment.discriminators(), " discriminators");
    }
    return assignment.resume_from().empty()
               ? ""
               : absl::StrCat(", ", assignment.resume_from());
  }

  void UseLocalRunDir(RegisterReply& assignment) const {
    if (flags_.run_dir.empty() || flags_.run_dir == assignment.run_dir()) {
      return;
    }
    const absl::string_view resume_from = assignment.resume_from();
    if (absl::StartsWith(resume_from, assignment.run_dir())) {
      assignment.set_resume_from(absl::StrCat(
          flags_.run_dir, resume_from.substr(assignment.run_dir().size())));
    }
    assignment.set_run_dir(flags_.run_dir);
  }

  absl::StatusOr<WorkerEpoch::Outcome> RunEpoch(const RegisterReply& assignment,
                                                const RunPlan& plan) {
    RecordInstant("run epoch", {"epoch", assignment.run_epoch()});
    WorkerEpoch epoch({.role = role_,
                       .rank = flags_.rank,
                       .roles = roles_,
                       .exchange_listen = flags_.exchange_listen,
                       .fleet_listen = flags_.fleet_listen},
                      client_.get(), assignment, plan, &stop_, &held_);
    if (!SetEpoch(&epoch)) {
      return absl::CancelledError("stopped before the start");
    }
    absl::StatusOr<WorkerEpoch::Outcome> outcome = epoch.Run();
    SetEpoch(nullptr);
    return outcome;
  }

  // Returns false if Stop() has cancelled the client before an epoch existed.
  bool SetEpoch(WorkerEpoch* epoch) {
    absl::MutexLock lock(&mu_);
    if (!cancelled_) epoch_ = epoch;
    return !cancelled_;
  }

  const Role role_;
  const RoleFactories roles_;
  const Flags flags_;
  const std::unique_ptr<ControlClient> client_;
  std::optional<HeldState> held_;  // used by the compute thread
  std::atomic<bool> stop_ = false;
  absl::Mutex mu_;
  WorkerEpoch* epoch_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
};

// Runs before the coordinator learns of this process: a process that cannot
// serve (a command started twice) must not replace one that does.
absl::Status CheckListenAddresses(const Flags& flags) {
  for (const auto& [name, address] :
       {std::pair("--listen", flags.exchange_listen),
        std::pair("--fleet_listen", flags.fleet_listen)}) {
    if (address.empty()) continue;
    const absl::Status free = CheckCanListen(address, *ProcessCredentials());
    if (!free.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(name, ": ", free.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status TakeCredentials(const Flags& flags) {
  const std::string token_file =
      FindTokenFile(flags.token_file, flags.run_dir, flags.control);
  if (token_file.empty()) {
    return absl::InvalidArgumentError(
        "a worker shows the token of its run: pass --run_dir with the run "
        "folder as this host sees it, or --token_file RUN_DIR/state/token");
  }
  absl::StatusOr<Credentials> credentials =
      LoadCredentials(token_file, flags.certificates, flags.insecure_network);
  if (absl::IsNotFound(credentials.status())) {
    return absl::NotFoundError(absl::StrCat(
        credentials.status().message(),
        ": does this host see the run folder? Start the worker when `gandem "
        "train` runs, with --run_dir naming its folder as this host sees it"));
  }
  GANDEM_RETURN_IF_ERROR(credentials);
  SetProcessCredentials(*std::move(credentials));
  return absl::OkStatus();
}

// Returns null without --trace.
absl::StatusOr<std::unique_ptr<TraceWriter>> StartTrace(Role role,
                                                        const Flags& flags) {
  if (flags.trace.empty()) return nullptr;
  GANDEM_ASSIGN_OR_RETURN(
      auto trace,
      TraceWriter::Start({.folder = flags.trace,
                          .name = absl::StrCat(RoleName(role), "-", flags.rank),
                          .process = 1000 * role + flags.rank}));
  GANDEM_LOG_INFO("timeline in {}", trace->path());
  return trace;
}

// Keeps freed memory in the process and in one heap. A training step frees and
// allocates equal large blocks; returning them to the kernel costs page faults,
// a fifth of the time with small networks, and separate heaps of threads do not
// reuse each other's memory. Only workers inside Python use the C library's
// malloc; other programs have an allocator that does so by itself.
void TuneMalloc() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);  // never
  mallopt(M_TOP_PAD, 64 << 20);
}

absl::StatusOr<ExitCode> RunWorker(Role role, RoleFactories roles,
                                   const Flags& flags) {
  GANDEM_RETURN_IF_ERROR(ArmFailpointFromEnvironment(
      absl::StrCat(RoleName(role), "-", flags.rank)));
  GANDEM_RETURN_IF_ERROR(InitLogging({.role = RoleName(role),
                                      .rank = flags.rank,
                                      .level = flags.log_level,
                                      .format = flags.log_format}));
  const absl::Status credentials = TakeCredentials(flags);
  // Only the user can repair invalid credentials.
  if (!credentials.ok()) {
    return absl::FailedPreconditionError(credentials.message());
  }
  if (!flags.profile.empty()) {
    GANDEM_RETURN_IF_ERROR(RunProfileMode(role, roles, flags.profile));
    return kExitOk;
  }
  GANDEM_RETURN_IF_ERROR(CheckListenAddresses(flags));
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<TraceWriter> trace,
                          StartTrace(role, flags));
  GANDEM_ASSIGN_OR_RETURN(
      std::unique_ptr<ControlClient> client,
      ControlClient::Create(
          {.address = flags.control, .role = role, .rank = flags.rank}));
  Worker worker(role, std::move(roles), flags, std::move(client));
  SignalThread signals(SignalsToHear({SIGTERM, SIGINT}), [&](int signal) {
    GANDEM_LOG_INFO("SIG{}: asking the run to stop at a checkpoint",
                    sigabbrev_np(signal));
    worker.Stop();
  });
  return worker.Run();
}

}  // namespace

int WorkerMain(Role role, RoleFactories roles, int argc, char** argv) {
  PrepareProcess();
  HideTilesWithoutSize();
  // Signals must be blocked before gRPC and OpenMP start threads.
  BlockSignals({SIGTERM, SIGINT});
  signal(SIGPIPE, SIG_IGN);
  TuneMalloc();
  // LibTorch warns about nondeterministic cuBLAS without a fixed workspace.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  const std::string name = RoleName(role);
  CLI::App app(absl::StrCat("gandem ", name,
                            " worker. `gandem train` starts it; by hand:\n  ",
                            name, "_worker --control unix:/path --rank 0"),
               name + "_worker");
  app.formatter(std::make_shared<WrappedHelp>());
  Flags flags;
  DefineFlags(app, role, flags);
  RefuseEmptyValues(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  // Memory may run out anywhere, even outside a step.
  const absl::StatusOr<ExitCode> code =
      CatchTorchOr([&]() -> absl::StatusOr<ExitCode> {
        return RunWorker(role, std::move(roles), flags);
      });
  if (code.ok()) return *code;
  GANDEM_LOG_ERROR("{}", code.status());
  return WorkerExitCodeOf(code.status());
}

}  // namespace gandem
