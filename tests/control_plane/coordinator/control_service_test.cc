// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, service, client and heartbeats together over a unix socket.
#include "control_plane/coordinator/control_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/control/control_client.h"
#include "common/control/heartbeats.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/results/run_folder.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_calls.h"
#include "common/version.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(30);  // upper bound only

// A client with the state that a worker's main() would keep.
class Worker {
 public:
  // A call that times out is repeated and counted twice.
  Worker(const std::string& address, Role role,
         absl::Duration call_timeout = kLong) {
    auto client = ControlClient::Create(
        {.address = address, .role = role, .call_timeout = call_timeout});
    EXPECT_OK(client);
    client_ = *std::move(client);
  }
  ControlClient& client() { return *client_; }
  Heartbeats& heartbeats() { return *heartbeats_; }

  void StartHeartbeats(absl::Duration give_up_after = absl::Hours(1),
                       absl::Duration interval = absl::Milliseconds(5)) {
    heartbeats_.emplace(
        client_.get(),
        Heartbeats::Options{.interval = interval,
                            .give_up_after = give_up_after,
                            .max_queued_metrics = 3,
                            .waits = &waits_,
                            .state =
                                [this] {
                                  absl::MutexLock lock(&mu_);
                                  return progress_;
                                },
                            .on_reply =
                                [this](const HeartbeatReply& reply) {
                                  absl::MutexLock lock(&mu_);
                                  reply_ = reply;
                                  ++num_replies_;
                                },
                            .on_end =
                                [this](const absl::Status& status) {
                                  absl::MutexLock lock(&mu_);
                                  end_ = status;
                                }});
  }
  void StopHeartbeats() { heartbeats_.reset(); }
  WaitBoard& waits() { return waits_; }
  void Set(const Heartbeats::WorkerState& progress) {
    {
      absl::MutexLock lock(&mu_);
      progress_ = progress;
    }
    heartbeats_->Wake();
  }
  // Waits for a reply that satisfies the condition.
  template <typename Condition>
  bool Sees(Condition condition) {
    absl::MutexLock lock(&mu_);
    const auto seen = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return num_replies_ > 0 && condition(reply_);
    };
    return mu_.AwaitWithTimeout(absl::Condition(&seen), kLong);
  }
  template <typename Condition>
  bool HasSeen(Condition condition) {
    absl::MutexLock lock(&mu_);
    return num_replies_ > 0 && condition(reply_);
  }
  absl::Status End() {
    absl::MutexLock lock(&mu_);
    const auto ended = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return !end_.ok();
    };
    mu_.AwaitWithTimeout(absl::Condition(&ended), kLong);
    return end_;
  }

 private:
  std::unique_ptr<ControlClient> client_;
  WaitBoard waits_{/*first_round=*/0};
  absl::Mutex mu_;
  Heartbeats::WorkerState progress_ ABSL_GUARDED_BY(mu_);
  HeartbeatReply reply_ ABSL_GUARDED_BY(mu_);
  int num_replies_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status end_ ABSL_GUARDED_BY(mu_);
  std::optional<Heartbeats> heartbeats_;
};

class ControlServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    StartCoordinator();
    generator_.emplace(address_, GENERATOR);
    discriminator_.emplace(address_, DISCRIMINATOR);
  }
  void TearDown() override {
    generator_.reset();
    discriminator_.reset();
    StopCoordinator();
  }
  void StartCoordinator(
      const std::string& version = std::string(GandemVersion())) {
    auto coordinator = Coordinator::Create(
        {.run_name = "test",
         .run_dir = run_dir_.path(),
         .config_text = "rounds: 10\n",
         .binary_version = version,
         .epoch = {.rounds = 10,
                   .workers = {{GENERATOR, 0}, {DISCRIMINATOR, 0}},
                   .external = true}});
    ASSERT_OK(coordinator);
    coordinator_ = *std::move(coordinator);
    service_.emplace(
        coordinator_.get(),
        ControlService::Observer{
            .on_metrics =
                [this](const HeartbeatRequest& request, int64_t) {
                  absl::MutexLock lock(&mu_);
                  metrics_.insert(metrics_.end(), request.metrics().begin(),
                                  request.metrics().end());
                },
            .complete_status =
                [](StatusReply& reply) { reply.set_images_per_second(123); }});
    auto server = StartControlServer({.address = address_}, &*service_);
    ASSERT_OK(server);
    server_ = *std::move(server);
  }
  void StopCoordinator() {
    server_.reset();
    service_.reset();
    coordinator_.reset();
  }
  // Returns the join request of a worker that sees the run folder.
  JoinRequest Ready(const RegisterReply& registered) const {
    JoinRequest ready;
    ready.set_proof(RunFolder(run_dir_.path())
                        .ReadProof(registered.proof_file())
                        .value_or(""));
    return ready;
  }
  // Registers and joins both workers, like two processes.
  void StartRun(absl::Duration interval = absl::Milliseconds(5)) {
    const absl::Time deadline = absl::Now() + kLong;
    ASSERT_OK_AND_ASSIGN(const RegisterReply registered,
                         generator_->client().Register(deadline));
    ASSERT_OK(discriminator_->client().Register(deadline));
    JoinRequest ready = Ready(registered);
    absl::StatusOr<JoinReply> generator_joined;
    {
      const Thread other("generator", [&, ready] {
        generator_joined = generator_->client().Join(ready, deadline);
      });
      ready.set_exchange_address("unix:/tmp/x");
      ASSERT_OK(discriminator_->client().Join(ready, deadline));
    }
    ASSERT_OK(generator_joined);
    ASSERT_TRUE(generator_joined->all_joined());
    ASSERT_EQ(generator_joined->discriminator_addresses(0), "unix:/tmp/x");
    generator_->StartHeartbeats(absl::Hours(1), interval);
    discriminator_->StartHeartbeats(absl::Hours(1), interval);
  }
  ShardReport WriteShard(const std::string& name, int64_t step) {
    const std::string folder = PendingCheckpointPath(
        run_dir_.path(), step, coordinator_->Status().run_epoch());
    EXPECT_OK(CreateDirectories(folder));
    EXPECT_OK(WriteFileDurably(folder + "/" + name, "x"));
    const std::byte x{'x'};
    ShardReport report;
    report.set_step(step);
    report.add_files()->set_name(name);
    report.mutable_files(0)->set_size(1);
    report.mutable_files(0)->set_crc32c(Crc32c({&x, 1}));
    return report;
  }
  std::vector<int64_t> MetricRounds() {
    absl::MutexLock lock(&mu_);
    std::vector<int64_t> rounds;
    for (const RoundMetrics& metrics : metrics_) {
      rounds.push_back(metrics.round());
    }
    return rounds;
  }

  TempDir run_dir_;
  const std::string address_ = "unix:" + run_dir_.path() + "/c";
  absl::Mutex mu_;
  std::vector<RoundMetrics> metrics_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Coordinator> coordinator_;
  std::optional<ControlService> service_;
  std::unique_ptr<RpcServer> server_;
  std::optional<Worker> generator_;
  std::optional<Worker> discriminator_;
};

RoundMetrics MetricsOf(int64_t round) {
  RoundMetrics metrics;
  metrics.set_role(GENERATOR);
  metrics.set_round(round);
  return metrics;
}

TEST_F(ControlServiceTest, ClientOptionsAreChecked) {
  EXPECT_THAT(ControlClient::Create({.address = "nowhere", .rank = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("role is required"),
                             HasSubstr("rank -1"), HasSubstr("nowhere"))));
}

TEST_F(ControlServiceTest, ARunProceedsFromRegistrationToTheEnd) {
  StartRun();
  generator_->heartbeats().AddMetrics(MetricsOf(9));
  generator_->heartbeats().AddShard(WriteShard("generator-0", 10));
  generator_->Set(
      {.started_round = 9, .completed_rounds = 10, .finished = true});
  discriminator_->heartbeats().AddShard(WriteShard("discriminator-0", 10));
  discriminator_->Set(
      {.started_round = 9, .completed_rounds = 10, .finished = true});
  const auto leave = [](const HeartbeatReply& reply) { return reply.leave(); };
  EXPECT_TRUE(generator_->Sees(leave));
  EXPECT_TRUE(discriminator_->Sees(leave));
  EXPECT_TRUE(coordinator_->outcome()->is_known_to_all);
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitOk);
  EXPECT_THAT(MetricRounds(), ::testing::ElementsAre(9));
  EXPECT_OK(FindNewestCheckpoint(run_dir_.path()));
}

TEST_F(ControlServiceTest, AStopReachesTheWorkers) {
  StartRun();
  coordinator_->RequestStop("test");
  EXPECT_TRUE(generator_->Sees([](const auto& r) { return r.pause(); }));
  generator_->Set({.started_round = 3, .completed_rounds = 3, .paused = true});
  discriminator_->Set(
      {.started_round = 2, .completed_rounds = 2, .paused = true});
  EXPECT_TRUE(discriminator_->Sees(
      [](const auto& r) { return r.has_cut() && r.cut() == 3; }));
}

TEST_F(ControlServiceTest, MetricsThatNobodyReadsAreDroppedAndCounted) {
  StartRun();
  server_.reset();
  for (int64_t round = 0; round < 5; ++round) {  // the queue holds 3
    generator_->heartbeats().AddMetrics(MetricsOf(round));
  }
  auto server = StartControlServer({.address = address_}, &*service_);
  ASSERT_OK(server);
  server_ = *std::move(server);
  ASSERT_TRUE(generator_->Sees(
      [this](const HeartbeatReply&) { return MetricRounds().size() >= 3; }));
  generator_->heartbeats().AddMetrics(MetricsOf(5));
  ASSERT_TRUE(generator_->Sees(
      [this](const HeartbeatReply&) { return MetricRounds().size() >= 4; }));
  EXPECT_THAT(MetricRounds(), ::testing::ElementsAre(0, 1, 2, 5));
  absl::MutexLock lock(&mu_);
  EXPECT_EQ(metrics_.back().records_dropped(), 2);
}

TEST_F(ControlServiceTest, ANewCoordinatorEndsTheEpoch) {
  StartRun();
  StopCoordinator();
  StartCoordinator();
  EXPECT_TRUE(generator_->Sees(
      [](const auto& reply) { return reply.epoch_superseded(); }));
  generator_->StopHeartbeats();
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                       generator_->client().Register(absl::Now() + kLong));
  EXPECT_EQ(reply.run_epoch(), 2);
}

TEST_F(ControlServiceTest, ASupersededWorkerIsNotified) {
  StartRun();
  Worker fresh(address_, GENERATOR);
  ASSERT_OK(fresh.client().Register(absl::Now() + kLong));
  const absl::Status end = generator_->End();
  EXPECT_THAT(end, StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(ExitCodeOf(end), kExitResumable);
}

TEST_F(ControlServiceTest, AWorkerOfAnotherReleaseLeaves) {
  StopCoordinator();
  StartCoordinator("another");
  const auto refused = generator_->client().Register(absl::Now() + kLong);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("of the same release")));
  EXPECT_EQ(ExitCodeOf(refused.status()), kExitUsage);
}

TEST_F(ControlServiceTest, AFailureArrivesAfterTheMetrics) {
  StartRun();
  for (int64_t round = 0; round < 3; ++round) {
    generator_->heartbeats().AddMetrics(MetricsOf(round));
  }
  generator_->heartbeats().ReportFailure(
      absl::InvalidArgumentError("generator.device: no CUDA here"),
      absl::Now() + kLong);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitUsage);
  EXPECT_THAT(coordinator_->outcome()->detail, HasSubstr("no CUDA here"));
  EXPECT_THAT(MetricRounds(), ::testing::ElementsAre(0, 1, 2));
}

TEST_F(ControlServiceTest, AFailureOfAnOldEpochIsAnsweredImmediately) {
  StartRun(/*interval=*/absl::Hours(1));
  ASSERT_TRUE(generator_->Sees([](const HeartbeatReply&) { return true; }));
  Worker fresh(address_, DISCRIMINATOR);
  ASSERT_OK(fresh.client().Register(absl::Now() + kLong));
  generator_->heartbeats().AddMetrics(MetricsOf(4));
  // The generator learns of the new epoch in the answer to its failure report.
  generator_->heartbeats().ReportFailure(absl::AbortedError("refused"),
                                         absl::Now() + kLong);
  EXPECT_TRUE(generator_->HasSeen(
      [](const HeartbeatReply& reply) { return reply.epoch_superseded(); }));
  EXPECT_FALSE(coordinator_->outcome().has_value());
  EXPECT_THAT(MetricRounds(), ::testing::IsEmpty());
}

TEST_F(ControlServiceTest, AFailureUnderANewCoordinatorIsHandled) {
  StartRun();
  StopCoordinator();
  discriminator_->StopHeartbeats();
  StartCoordinator();
  Worker fresh(address_, DISCRIMINATOR);  // begins a new epoch
  ASSERT_OK(fresh.client().Register(absl::Now() + kLong));
  const absl::Time begin = absl::Now();
  generator_->heartbeats().ReportFailure(absl::AbortedError("refused"),
                                         begin + kLong);
  EXPECT_LT(absl::Now() - begin, kLong);
  EXPECT_TRUE(generator_->HasSeen(
      [](const HeartbeatReply& reply) { return reply.epoch_superseded(); }));
}

TEST_F(ControlServiceTest, AWorkerThatFindsNoCoordinatorGivesUp) {
  generator_.emplace(address_, GENERATOR, absl::Milliseconds(200));
  ASSERT_OK(generator_->client().Register(absl::Now() + kLong));
  StopCoordinator();
  generator_->StartHeartbeats(/*give_up_after=*/absl::Milliseconds(50));
  const absl::Status end = generator_->End();
  EXPECT_THAT(end, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(ExitCodeOf(end), kExitResumable);
}

TEST_F(ControlServiceTest, RegistrationHasADeadline) {
  StopCoordinator();
  EXPECT_THAT(
      generator_->client().Register(absl::Now() + absl::Milliseconds(50)),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               HasSubstr("no coordinator")));
}

TEST_F(ControlServiceTest, RegistrationWaitsForTheCoordinator) {
  StopCoordinator();
  absl::StatusOr<RegisterReply> reply;
  {
    const Thread early("early", [&] {
      reply = generator_->client().Register(absl::Now() + kLong);
    });
    StartCoordinator();
  }
  EXPECT_OK(reply);
}

TEST_F(ControlServiceTest, JoiningUnderANewCoordinatorRegistersAgain) {
  const absl::Time deadline = absl::Now() + kLong;
  ASSERT_OK(generator_->client().Register(deadline));
  StopCoordinator();
  StartCoordinator();
  ASSERT_OK_AND_ASSIGN(const JoinReply reply,
                       generator_->client().Join({}, deadline));
  EXPECT_TRUE(reply.epoch_superseded());
}

// Resolving AUTO may take long before a worker joins.
TEST_F(ControlServiceTest, HeartbeatsMayPrecedeJoining) {
  ASSERT_OK(generator_->client().Register(absl::Now() + kLong));
  generator_->StartHeartbeats();
  generator_->waits().Begin(WorkerPosition::MEASURE);
  EXPECT_TRUE(generator_->Sees([this](const auto& reply) {
    return !reply.epoch_superseded() &&
           coordinator_->Status().workers(0).position().wait() ==
               WorkerPosition::MEASURE;
  }));
  EXPECT_EQ(coordinator_->Status().workers(0).state(), WorkerStatus::STARTING);
  StopCoordinator();
  StartCoordinator();
  EXPECT_TRUE(generator_->Sees(
      [](const auto& reply) { return reply.epoch_superseded(); }));
}

TEST_F(ControlServiceTest, CancelEndsAWaitingCall) {
  const absl::Time deadline = absl::Now() + kLong;
  ASSERT_OK_AND_ASSIGN(const RegisterReply registered,
                       generator_->client().Register(deadline));
  absl::StatusOr<JoinReply> reply;
  {
    const Thread waiting("waiting", [&] {
      reply = generator_->client().Join(Ready(registered), deadline);
    });
    generator_->client().Cancel();
  }
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_LT(absl::Now(), deadline);
}

TEST_F(ControlServiceTest, ACancelledClientMakesNoCall) {
  const absl::Time deadline = absl::Now() + kLong;
  ASSERT_OK_AND_ASSIGN(const RegisterReply before,
                       generator_->client().Register(deadline));
  generator_->client().Cancel();
  const auto is_cancelled = StatusIs(absl::StatusCode::kCancelled);
  EXPECT_THAT(generator_->client().Register(deadline), is_cancelled);
  EXPECT_THAT(generator_->client().Join({}, deadline), is_cancelled);
  EXPECT_THAT(generator_->client().Heartbeat({}), is_cancelled);
  EXPECT_THAT(generator_->client().ReportShard({}), is_cancelled);
  ASSERT_OK_AND_ASSIGN(const RunCounters counters,
                       RunFolder(run_dir_.path()).ReadCounters());
  EXPECT_EQ(counters.incarnation(), 1);  // number of registrations
  EXPECT_EQ(counters.places(0).incarnation(), before.incarnation());
}

// Larger requests would fill the coordinator's memory and its output.
TEST_F(ControlServiceTest, OversizedRequestsAreRefused) {
  StartRun();
  HeartbeatRequest request;
  for (int i = 0; i < 200'000; ++i) request.add_metrics()->set_round(1);
  ASSERT_OK_AND_ASSIGN(const auto channel, CreateChannel(address_, {}));
  grpc::ClientContext context;
  EXPECT_THAT(
      CallIn(context, *Control::NewStub(channel), &Control::Stub::Heartbeat,
             request, MonotonicNow() + kLong),
      StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(MetricRounds(), ::testing::IsEmpty());
}

TEST_F(ControlServiceTest, HeartbeatsEndWithACancelledClient) {
  StartRun();
  generator_->client().Cancel();
  EXPECT_THAT(generator_->End(), StatusIs(absl::StatusCode::kCancelled));
}

// Control service that cancels its calls, like a server during shutdown.
class LeavingControl final : public Control::Service {
 public:
  absl::Notification called;

 private:
  grpc::Status Register(grpc::ServerContext*, const RegisterRequest*,
                        RegisterReply*) override {
    if (!called.HasBeenNotified()) called.Notify();
    return grpc::Status::CANCELLED;
  }
};

TEST_F(ControlServiceTest, AShutdownOfTheCoordinatorIsNotACancellation) {
  StopCoordinator();
  LeavingControl leaving;
  ASSERT_OK_AND_ASSIGN(
      auto server, RpcServer::Start({.address = address_}, [&](auto& builder) {
        builder.RegisterService(&leaving);
      }));
  absl::StatusOr<RegisterReply> reply;
  {
    const Thread early("early", [&] {
      reply = generator_->client().Register(absl::Now() + kLong);
    });
    leaving.called.WaitForNotification();
    server.reset();
    StartCoordinator();
  }
  EXPECT_OK(reply);
}

TEST_F(ControlServiceTest, InvalidDataFromAStrangerIsHarmless) {
  StartRun();
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const std::string path = address_.substr(std::string("unix:").size());
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  const std::string noise(100'000, '\xff');
  // The server may close the connection before it has read everything.
  EXPECT_GT(send(fd, noise.data(), noise.size(), MSG_NOSIGNAL), 0);
  close(fd);
  // Larger than a message may be.
  HeartbeatRequest huge;
  huge.set_failure(std::string(70 << 20, 'x'));
  Worker stranger(address_, GENERATOR);
  EXPECT_FALSE(stranger.client().Heartbeat(std::move(huge)).ok());
  const auto alive = [](const WorkerStatus& worker) {
    return worker.state() == WorkerStatus::RUNNING;
  };
  const StatusReply status = coordinator_->Status();
  EXPECT_TRUE(
      std::all_of(status.workers().begin(), status.workers().end(), alive));
  // Metrics of the workers still reach the coordinator.
  generator_->heartbeats().AddMetrics(MetricsOf(7));
  EXPECT_TRUE(generator_->Sees([this](const HeartbeatReply&) {
    return MetricRounds() == std::vector<int64_t>{7};
  }));
}

TEST_F(ControlServiceTest, StatusIsCompletedByTheObserver) {
  grpc::ServerContext context;
  const StatusRequest request;
  StatusReply reply;
  ASSERT_TRUE(service_->Status(&context, &request, &reply).ok());
  EXPECT_EQ(reply.images_per_second(), 123);
  EXPECT_EQ(reply.run_name(), "test");
}

}  // namespace
}  // namespace gandem
