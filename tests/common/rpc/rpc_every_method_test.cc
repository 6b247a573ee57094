// SPDX-License-Identifier: Apache-2.0
//
// Calls all methods of all services, as listed by their descriptors, on the
// servers that offer them: no call without the run's token succeeds. New
// methods and services are included automatically.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "collective/ring_collective.h"
#include "common/control/measure_service.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/socket_folder.h"
#include "common/security/refusals.h"
#include "common/version.h"
#include "control_plane/coordinator/control_service.h"
#include "control_plane/doctor/doctor_service.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/exchange_server.h"
#include "proto/collective.pb.h"
#include "proto/control.pb.h"
#include "proto/doctor.pb.h"
#include "proto/exchange.pb.h"
#include "proto/measure.pb.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::ServiceDescriptor;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kAnswerBound = absl::Seconds(60);

// Returns the services defined in proto/; EveryServiceIsListed compares the
// list with the sources.
std::vector<const ServiceDescriptor*> AllServices() {
  std::vector<const ServiceDescriptor*> services;
  for (const FileDescriptor* const file :
       {RingMessage::descriptor()->file(), StatusRequest::descriptor()->file(),
        HelloRequest::descriptor()->file(), LookRequest::descriptor()->file(),
        MeasureRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      services.push_back(file->service(i));
    }
  }
  return services;
}

std::vector<std::string> MethodsOf(const ServiceDescriptor& service) {
  std::vector<std::string> paths;
  for (int i = 0; i < service.method_count(); ++i) {
    paths.push_back(
        absl::StrCat("/", service.full_name(), "/", service.method(i)->name()));
  }
  return paths;
}

absl::Status CallMethod(const std::shared_ptr<grpc::Channel>& channel,
                        const std::string& path, const std::string& message,
                        const std::string& token) {
  grpc::ClientContext context;
  context.set_deadline(ToGrpcDeadline(MonotonicNow() + kAnswerBound));
  if (!token.empty()) context.AddMetadata("gandem-token", token);
  const grpc::Slice slice(message);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  grpc::Status status;
  absl::Notification done;
  grpc::GenericStub stub(channel);
  stub.UnaryCall(&context, path, grpc::StubOptions(), &request, &reply,
                 [&](grpc::Status result) {
                   status = std::move(result);
                   done.Notify();
                 });
  done.WaitForNotification();
  return FromGrpcStatus(status);
}

// Tests with all servers of a run.
class EveryMethodTest : public ::testing::Test {
 protected:
  EveryMethodTest() {
    StartControl();
    StartExchange();
    StartMeasuring();
    StartDoctor();
    auto ring = RingListener::Start({.local_address = sockets_->AddressOf("r"),
                                     .network_address = "127.0.0.1:0"});
    EXPECT_OK(ring);
    ring_ = *std::move(ring);
    addresses_["gandem.Ring"] = {ring_->local_address(),
                                 ring_->network_address()};
  }

  void StartControl() {
    auto coordinator = Coordinator::Create(
        {.run_name = "secret name",
         .run_dir = run_dir_.path(),
         .config_text = "rounds: 10\n",
         .binary_version = std::string(GandemVersion()),
         .epoch = {.rounds = 10,
                   .workers = {{GENERATOR, 0}, {DISCRIMINATOR, 0}},
                   .external = true}});
    EXPECT_OK(coordinator);
    coordinator_ = *std::move(coordinator);
    service_.emplace(coordinator_.get(), ControlService::Observer());
    for (const std::string& address :
         {sockets_->AddressOf("c"), std::string("127.0.0.1:0")}) {
      auto server = StartControlServer({.address = address}, &*service_);
      EXPECT_OK(server);
      addresses_["gandem.Control"].push_back((*server)->address());
      control_.push_back(*std::move(server));
    }
  }

  void StartExchange() {
    const ExchangeOptions options = gandem::testing::OptionsFor(
        {.lag = 1, .generator_batch = 4, .discriminator_batch = 4});
    end_ = std::make_unique<DiscriminatorEnd>(options);
    for (const std::string& address :
         {sockets_->AddressOf("e"), std::string("127.0.0.1:0")}) {
      auto server = ExchangeServer::Start(
          {.address = address, .exchange = options}, end_.get());
      EXPECT_OK(server);
      addresses_["gandem.Exchange"].push_back((*server)->address());
      exchange_.push_back(*std::move(server));
    }
  }

  // A worker in profile mode.
  class Measured : public MeasureHandler {
    absl::StatusOr<PrepareReply> Prepare(const PrepareRequest&) override {
      return PrepareReply();
    }
    absl::StatusOr<MeasureReply> Measure(const MeasureRequest&) override {
      return absl::FailedPreconditionError("nothing was prepared");
    }
    absl::StatusOr<TransferReply> Transfer(const TransferRequest&) override {
      return TransferReply();
    }
  };

  void StartMeasuring() {
    for (const std::string& address :
         {sockets_->AddressOf("m"), std::string("127.0.0.1:0")}) {
      auto server = StartMeasureServer(address, &measuring_);
      EXPECT_OK(server);
      addresses_["gandem.Measuring"].push_back((*server)->address());
      measure_servers_.push_back(*std::move(server));
    }
    measuring_thread_ = Thread("measuring", [this] { measuring_.Serve(); });
  }

  void StartDoctor() {
    for (const std::string& address :
         {sockets_->AddressOf("d"), std::string("127.0.0.1:0")}) {
      auto server = StartDoctorServer(address, &doctor_);
      EXPECT_OK(server);
      addresses_["gandem.Doctor"].push_back((*server)->address());
      doctor_servers_.push_back(*std::move(server));
    }
  }

  ~EveryMethodTest() override {
    measuring_.Stop();
    measuring_thread_.Join();
  }

  const TempDir run_dir_;
  const std::unique_ptr<SocketFolder> sockets_ = *SocketFolder::Create();
  std::map<std::string, std::vector<std::string>> addresses_;  // by service
  std::unique_ptr<Coordinator> coordinator_;
  std::optional<ControlService> service_;
  std::vector<std::unique_ptr<RpcServer>> control_;
  std::unique_ptr<DiscriminatorEnd> end_;
  std::vector<std::unique_ptr<ExchangeServer>> exchange_;
  std::unique_ptr<RingListener> ring_;
  DoctorService doctor_{run_dir_.path()};
  std::vector<std::unique_ptr<RpcServer>> doctor_servers_;
  Measured measured_;
  MeasureService measuring_{&measured_};
  std::vector<std::unique_ptr<RpcServer>> measure_servers_;
  Thread measuring_thread_;
};

TEST_F(EveryMethodTest, EveryServiceIsListed) {
  const char* const root = std::getenv("GANDEM_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  const std::string folder = absl::StrCat(root, "/proto");
  ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(folder));
  size_t defined = 0;
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, ".proto")) continue;
    ASSERT_OK_AND_ASSIGN(const std::string text,
                         ReadFile(absl::StrCat(folder, "/", name)));
    if (absl::StrContains(text, "\nservice ")) ++defined;
  }
  const auto services = AllServices();
  EXPECT_EQ(services.size(), defined) << "add the new file to AllServices()";
  for (const ServiceDescriptor* const service : services) {
    EXPECT_FALSE(addresses_[service->full_name()].empty())
        << "no server of " << service->full_name() << " is tested";
  }
}

TEST_F(EveryMethodTest, NoMethodCanBeCalledWithoutTheToken) {
  const std::string garbage(10'000, '\xff');
  for (const ServiceDescriptor* const service : AllServices()) {
    for (const std::string& address : addresses_[service->full_name()]) {
      const auto channel =
          grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
      for (const std::string& path : MethodsOf(*service)) {
        const int64_t before = NumRefusals();
        for (const std::string& token :
             {std::string(), std::string("wrong"), std::string(64, 'b')}) {
          EXPECT_THAT(
              CallMethod(channel, path, garbage, token),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("--token_file"),
                             Not(HasSubstr(std::string(GandemVersion()))),
                             Not(HasSubstr("secret")), Not(HasSubstr("\n")))))
              << path << " at " << address;
        }
        EXPECT_EQ(NumRefusals() - before, 3) << path;
      }
    }
  }
}

// Shows that the refusals are due to the missing token only.
TEST_F(EveryMethodTest, TheTokenOpensAllMethods) {
  for (const ServiceDescriptor* const service : AllServices()) {
    for (const std::string& address : addresses_[service->full_name()]) {
      ASSERT_OK_AND_ASSIGN(const auto channel, CreateChannel(address, {}));
      for (const std::string& path : MethodsOf(*service)) {
        const int64_t before = NumRefusals();
        const absl::Status status = CallMethod(channel, path, "", "");
        EXPECT_FALSE(absl::IsUnauthenticated(status)) << path;
        EXPECT_FALSE(absl::IsDeadlineExceeded(status)) << path;
        EXPECT_FALSE(absl::IsUnimplemented(status)) << path;
        EXPECT_EQ(NumRefusals(), before) << path;
      }
    }
  }
}

}  // namespace
}  // namespace gandem
