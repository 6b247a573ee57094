// SPDX-License-Identifier: Apache-2.0
//
// Worker process without a network. It counts rounds, and follows the control
// protocol like a real worker. Its role is the name of its program
// ("generator_worker"). Environment variables control it:
//   PLAY_ROUND_MS=5: time of a round
//   PLAY_KILL=generator:7:FILE: SIGKILL in round 7, unless FILE exists
//   PLAY_USAGE=generator: fails with exit code 2
//   PLAY_STAY=1: never exits, not even on SIGTERM
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/config/run_config.h"
#include "common/control/control_client.h"
#include "common/control/heartbeats.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/process/exit_code.h"
#include "common/process/signals.h"
#include "common/results/run_folder.h"
#include "common/security/credentials.h"
#include "common/status.h"

namespace gandem {
namespace {

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Play {
  std::string role;  // "generator"
  std::string control;
  int rank = 0;
  std::string token_file;
  std::string certificates;
};

Play ParseArguments(int argc, char** argv) {
  Play play;
  const std::string binary = argv[0];
  play.role = std::string(absl::StripSuffix(
      binary.substr(binary.find_last_of('/') + 1), "_worker"));
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--control") play.control = value;
    if (flag == "--rank") play.rank = std::atoi(value.c_str());
    if (flag == "--token_file") play.token_file = value;
    if (flag == "--certificates") play.certificates = value;
  }
  return play;
}

Role RoleOf(const std::string& name) {
  return name == "generator"       ? GENERATOR
         : name == "discriminator" ? DISCRIMINATOR
                                   : COLOCATED;
}

class PlayedWorker {
 public:
  explicit PlayedWorker(Play play) : play_(std::move(play)) {
    auto credentials = LoadCredentials(
        FindTokenFile(play_.token_file, /*run_dir=*/"", play_.control),
        play_.certificates, /*insecure_network=*/false);
    GANDEM_CHECK_OK(credentials.status());
    SetProcessCredentials(*std::move(credentials));
    auto client = ControlClient::Create(
        {.address = play_.control, .role = RoleOf(play_.role)});
    GANDEM_CHECK_OK(client.status());
    client_ = *std::move(client);
    int milliseconds = 1;
    (void)absl::SimpleAtoi(Environment("PLAY_ROUND_MS"), &milliseconds);
    round_time_ = absl::Milliseconds(milliseconds);
  }

  void RequestStop() {
    absl::MutexLock lock(&mu_);
    stop_requested_ = true;
  }

  int Run() {
    while (true) {
      const auto reply = client_->Register(absl::Now() + absl::Seconds(30));
      if (!reply.ok()) return Fail(reply.status());
      const std::optional<int> exit_code = RunEpoch(*reply);
      if (exit_code.has_value()) return *exit_code;
    }
  }

 private:
  static int Fail(const absl::Status& status) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return ExitCodeOf(status);
  }

  // Returns the exit code, or nullopt for the next epoch.
  std::optional<int> RunEpoch(const RegisterReply& start) {
    const auto config = ParseRunConfig(start.config_text(), "config", {});
    if (!config.ok()) return Fail(config.status());
    {
      absl::MutexLock lock(&mu_);
      reply_ = HeartbeatReply();
      end_ = absl::OkStatus();
      shard_step_ = start.first_round();
      progress_ = {.started_round = start.first_round() - 1,
                   .completed_rounds = start.first_round()};
    }
    const bool serves = RoleOf(play_.role) == DISCRIMINATOR;
    JoinRequest ready;
    const auto proof = RunFolder(start.run_dir()).ReadProof(start.proof_file());
    if (!proof.ok()) return Fail(proof.status());
    ready.set_proof(*proof);
    if (serves) ready.set_exchange_address("unix:/tmp/played");
    const auto joined = client_->Join(ready, absl::Now() + absl::Seconds(60));
    if (!joined.ok()) return Fail(joined.status());
    if (joined->epoch_superseded()) return std::nullopt;
    if (joined->leave()) return kExitResumable;

    WaitBoard waits(start.first_round());
    Heartbeats heartbeats(client_.get(),
                          {.interval = absl::Milliseconds(10),
                           .waits = &waits,
                           .state = [this] { return CurrentState(); },
                           .on_reply =
                               [this](const HeartbeatReply& reply) {
                                 absl::MutexLock lock(&mu_);
                                 reply_ = reply;
                               },
                           .on_end =
                               [this](const absl::Status& status) {
                                 absl::MutexLock lock(&mu_);
                                 end_ = status;
                               }});
    if (Environment("PLAY_USAGE") == play_.role) {
      std::puts("cuda:7 is not there");
      const absl::Status failure =
          absl::InvalidArgumentError("played usage error");
      heartbeats.ReportFailure(failure, absl::Now() + absl::Seconds(10));
      return Fail(failure);
    }
    for (int64_t round = start.first_round(); round < config->rounds();
         ++round) {
      if (!MayStart(round, heartbeats)) break;
      KillAt(round);
      absl::SleepFor(round_time_);
      EndRound(round, *config, start, heartbeats);
    }
    return Leave(*config, start, heartbeats);
  }

  Heartbeats::WorkerState CurrentState() {
    absl::MutexLock lock(&mu_);
    Heartbeats::WorkerState progress = progress_;
    progress.stop_requested = stop_requested_;
    progress.paused = at_round_end_ && reply_.pause();
    return progress;
  }

  bool IsOver() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return reply_.leave() || reply_.epoch_superseded() || !end_.ok();
  }

  // Waits while the run is paused. Returns false if no further round may start.
  bool MayStart(int64_t round, Heartbeats& heartbeats) {
    heartbeats.Wake();
    absl::MutexLock lock(&mu_);
    const auto decided = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return !reply_.pause() || reply_.has_cut() || IsOver();
    };
    // Heartbeats promise that no round starts during the wait.
    at_round_end_ = true;
    const bool in_time =
        mu_.AwaitWithTimeout(absl::Condition(&decided), absl::Seconds(60));
    at_round_end_ = false;
    if (!in_time || IsOver()) return false;
    if (reply_.has_cut() && round > reply_.cut()) return false;
    progress_.started_round = round;
    return true;
  }

  void KillAt(int64_t round) {
    const std::vector<std::string> parts =
        absl::StrSplit(Environment("PLAY_KILL"), ':');
    if (parts.size() != 3 || parts[0] != play_.role ||
        parts[1] != absl::StrCat(round) || PathExists(parts[2])) {
      return;
    }
    GANDEM_CHECK_OK(WriteFile(parts[2], ""));
    kill(getpid(), SIGKILL);
  }

  void EndRound(int64_t round, const RunConfig& config,
                const RegisterReply& start, Heartbeats& heartbeats) {
    {
      absl::MutexLock lock(&mu_);
      progress_.completed_rounds = round + 1;
    }
    const Role own = RoleOf(play_.role);
    for (const Role role : {GENERATOR, DISCRIMINATOR}) {
      if (own == role || own == COLOCATED) {
        TellOfRound(role, round, start, heartbeats);
      }
    }
    const int64_t every = config.checkpoint().every_rounds();
    if (every > 0 && (round + 1) % every == 0) {
      WriteShard(round + 1, start, heartbeats);
    }
  }

  void TellOfRound(Role role, int64_t round, const RegisterReply& start,
                   Heartbeats& heartbeats) const {
    RoundMetrics metrics;
    metrics.set_role(role);
    metrics.set_rank(play_.rank);
    metrics.set_run_epoch(start.run_epoch());
    metrics.set_round(round);
    metrics.set_loss(1.0 / static_cast<double>(round + 1));
    metrics.set_round_seconds(0.5);  // reported, not measured
    heartbeats.AddMetrics(metrics);
  }

  absl::Status WriteFileOfShard(const std::string& folder,
                                const std::string& name,
                                const std::string& text, ShardReport& report) {
    GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
    GANDEM_RETURN_IF_ERROR(WriteFileDurably(folder + "/" + name, text));
    CheckpointFile* const file = report.add_files();
    file->set_name(name);
    file->set_size(static_cast<int64_t>(text.size()));
    file->set_crc32c(
        Crc32c(std::as_bytes(std::span(text.data(), text.size()))));
    return absl::OkStatus();
  }

  void WriteShard(int64_t step, const RegisterReply& start,
                  Heartbeats& heartbeats) {
    const std::string folder =
        PendingCheckpointPath(start.run_dir(), step, start.run_epoch());
    const std::string name = absl::StrCat(play_.role, "-", play_.rank);
    ShardReport report;
    report.set_step(step);
    absl::Status written = WriteFileOfShard(
        folder, name, absl::StrCat(name, " after ", step, " rounds"), report);
    if (written.ok() && play_.role != "discriminator") {
      written = WriteFileOfShard(folder, "config.textproto",
                                 start.config_text(), report);
    }
    if (!written.ok()) report.set_error(std::string(written.message()));
    heartbeats.AddShard(std::move(report));
    shard_step_ = step;
  }

  // Writes the last checkpoint and waits for the other workers.
  std::optional<int> Leave(const RunConfig& config, const RegisterReply& start,
                           Heartbeats& heartbeats) {
    int64_t completed = 0;
    bool is_last = false;
    {
      absl::MutexLock lock(&mu_);
      completed = progress_.completed_rounds;
      is_last = completed == config.rounds() ||
                (reply_.has_cut() && reply_.cut() + 1 == completed);
    }
    if (is_last && shard_step_ < completed) {
      WriteShard(completed, start, heartbeats);
    }
    {
      absl::MutexLock lock(&mu_);
      progress_.finished = completed == config.rounds();
    }
    heartbeats.Wake();
    absl::MutexLock lock(&mu_);
    const auto over = [this]()
                          ABSL_SHARED_LOCKS_REQUIRED(mu_) { return IsOver(); };
    mu_.AwaitWithTimeout(absl::Condition(&over), absl::Seconds(60));
    while (Environment("PLAY_STAY") == "1") pause();
    if (!end_.ok()) return Fail(end_);
    if (reply_.epoch_superseded()) return std::nullopt;
    return completed == config.rounds() ? kExitOk : kExitResumable;
  }

  const Play play_;
  std::unique_ptr<ControlClient> client_;
  absl::Duration round_time_;
  int64_t shard_step_ = 0;  // newest shard, or the start of the epoch
  absl::Mutex mu_;
  Heartbeats::WorkerState progress_ ABSL_GUARDED_BY(mu_);
  HeartbeatReply reply_ ABSL_GUARDED_BY(mu_);
  absl::Status end_ ABSL_GUARDED_BY(mu_);
  bool stop_requested_ ABSL_GUARDED_BY(mu_) = false;
  bool at_round_end_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  gandem::BlockSignals({SIGTERM});
  gandem::PlayedWorker worker(gandem::ParseArguments(argc, argv));
  const gandem::SignalThread signals(
      {SIGTERM}, [&worker](int /*signal*/) { worker.RequestStop(); });
  return worker.Run();
}
