// SPDX-License-Identifier: Apache-2.0
//
// Access to a server: clients need the run's token and, on addresses that other
// hosts reach, a certificate of the run. All connections are real.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/monotonic_time.h"
#include "common/rpc/address.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/listen_check.h"
#include "common/rpc/socket_folder.h"
#include "common/rpc/why_no_answer.h"
#include "common/security/certificate_authority.h"
#include "common/security/refusals.h"
#include "proto/control.grpc.pb.h"
#include "tests/testing/eventually.h"
#include "tests/testing/socket_proxy.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_certificates.h"
#include "tests/testing/test_credentials.h"

namespace gandem {
namespace {

using ::gandem::testing::Eventually;
using ::gandem::testing::IssueCertificate;
using ::gandem::testing::kHostOfOthers;
using ::gandem::testing::LoadedCertificates;
using ::gandem::testing::MakeAuthority;
using ::gandem::testing::NewCertificatesOfRun;
using ::gandem::testing::SocketProxy;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::gandem::testing::TestToken;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kBound = absl::Seconds(60);

class AnsweringControl : public Control::Service {
 public:
  grpc::Status Status(grpc::ServerContext* context, const StatusRequest*,
                      StatusReply* reply) override {
    for (const auto& [key, value] : context->client_metadata()) {
      sees_token_ |=
          absl::StrContains({value.data(), value.size()}, TestToken());
    }
    ++num_calls_;
    reply->set_run_name("run");
    return grpc::Status::OK;
  }
  grpc::Status Heartbeat(grpc::ServerContext*, const HeartbeatRequest*,
                         HeartbeatReply*) override {
    return grpc::Status::OK;
  }
  bool sees_token_ = false;
  std::atomic<int> num_calls_ = 0;
};

std::shared_ptr<const Credentials> With(Credentials credentials) {
  return std::make_shared<const Credentials>(std::move(credentials));
}

// Makes a call that fails immediately if there is no connection.
absl::Status Call(const std::shared_ptr<grpc::Channel>& channel,
                  const std::string& token = "", size_t bytes = 0) {
  grpc::ClientContext context;
  context.set_deadline(ToGrpcDeadline(MonotonicNow() + kBound));
  if (!token.empty()) context.AddMetadata("gandem-token", token);
  if (bytes == 0) {
    StatusReply reply;
    return FromGrpcStatus(
        Control::NewStub(channel)->Status(&context, StatusRequest(), &reply));
  }
  HeartbeatRequest request;
  request.set_failure(std::string(bytes, 'x'));
  HeartbeatReply reply;
  return FromGrpcStatus(
      Control::NewStub(channel)->Heartbeat(&context, request, &reply));
}

// Returns a gRPC channel that is not made by gandem.
std::shared_ptr<grpc::Channel> Stranger(
    const std::string& address,
    std::shared_ptr<grpc::ChannelCredentials> credentials =
        grpc::InsecureChannelCredentials(),
    const std::string& other_name = "") {
  grpc::ChannelArguments arguments;
  if (!other_name.empty()) arguments.SetSslTargetNameOverride(other_name);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

// Sends `bytes` to a server on this host and waits for the disconnect.
void SendRaw(int port, absl::string_view bytes) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)),
            0);
  const timeval bound = {.tv_sec = absl::ToInt64Seconds(kBound), .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound));
  // The server may close the connection before it has read everything.
  (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  char sink[4096];
  ssize_t got = 1;
  while (got > 0) got = read(fd, sink, sizeof(sink));
  EXPECT_TRUE(got == 0 || errno == ECONNRESET) << "it does not hang up";
  close(fd);
}

// Returns the server's answer to a health probe without a token; 1 is SERVING.
absl::StatusOr<std::string> AskHealth(const std::string& address,
                                      const std::string& method,
                                      const std::string& token = "") {
  grpc::GenericStub stub(Stranger(address));
  grpc::ClientContext context;
  context.set_deadline(ToGrpcDeadline(MonotonicNow() + kBound));
  if (!token.empty()) context.AddMetadata("gandem-token", token);
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);  // health of the whole server
  grpc::ByteBuffer reply;
  grpc::Status status;
  absl::Notification done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/" + method,
                 grpc::StubOptions(), &request, &reply,
                 [&](grpc::Status ended) {
                   status = std::move(ended);
                   done.Notify();
                 });
  done.WaitForNotification();
  if (!status.ok()) return FromGrpcStatus(status);
  grpc::Slice slice;
  EXPECT_TRUE(reply.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()),
                     slice.size());
}

class CredentialsOfCallsTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<RpcServer>> Serve(
      const std::string& address,
      std::shared_ptr<const Credentials> credentials = nullptr,
      bool offers_health = false) {
    return RpcServer::Start(
        {.address = address,
         .rpc = {.max_message_bytes = 64 << 10, .credentials = credentials},
         .offers_health = offers_health},
        [this](grpc::ServerBuilder& builder) {
          builder.RegisterService(&service_);
        });
  }
  absl::Status Ask(const std::string& address,
                   std::shared_ptr<const Credentials> credentials = nullptr) {
    const auto channel = CreateChannel(address, {.credentials = credentials});
    return channel.ok() ? Call(*channel) : channel.status();
  }

  AnsweringControl service_;
  const std::unique_ptr<SocketFolder> sockets_ = *SocketFolder::Create();
};

TEST_F(CredentialsOfCallsTest, OnlyTheTokenOfTheRunIsAccepted) {
  for (const std::string& address :
       {sockets_->AddressOf("control"), std::string("127.0.0.1:0")}) {
    ASSERT_OK_AND_ASSIGN(const auto server, Serve(address));
    EXPECT_OK(Ask(server->address()));
    EXPECT_FALSE(service_.sees_token_) << "handlers need not see it";
    const int64_t before = NumRefusals();
    const auto refused =
        StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("--token_file"));
    EXPECT_THAT(Ask(server->address(), With({.token = std::string(64, 'b')})),
                refused);
    const auto stranger = Stranger(server->address());
    EXPECT_THAT(Call(stranger), refused);
    for (const std::string& wrong :
         {std::string("a"), std::string(63, 'a'), std::string(65, 'a'),
          TestToken() + " " + TestToken()}) {
      EXPECT_THAT(Call(stranger, wrong), refused);
    }
    EXPECT_EQ(NumRefusals() - before, 6);
    EXPECT_OK(Call(stranger, TestToken()));
    EXPECT_OK(Ask(server->address()));
  }
}

TEST_F(CredentialsOfCallsTest, HealthProbesNeedNoToken) {
  ASSERT_OK_AND_ASSIGN(const auto server, Serve("127.0.0.1:0", nullptr,
                                                /*offers_health=*/true));
  const int64_t before = NumRefusals();
  ASSERT_OK_AND_ASSIGN(const std::string serving,
                       AskHealth(server->address(), "Check"));
  EXPECT_EQ(serving, "\x08\x01") << "field 1 is SERVING";
  EXPECT_OK(AskHealth(server->address(), "Check", TestToken()));
  EXPECT_EQ(NumRefusals(), before);
  // Health probes with a wrong token fail, a stream never ends, and no other
  // method is open.
  EXPECT_THAT(AskHealth(server->address(), "Check", std::string(64, 'b')),
              StatusIs(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(AskHealth(server->address(), "Watch"),
              StatusIs(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(Call(Stranger(server->address())),
              StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(CredentialsOfCallsTest, HealthIsServedOnlyIfEnabled) {
  ASSERT_OK_AND_ASSIGN(const auto server, Serve("127.0.0.1:0"));
  EXPECT_THAT(AskHealth(server->address(), "Check"),
              StatusIs(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(AskHealth(server->address(), "Check", TestToken()),
              StatusIs(absl::StatusCode::kUnimplemented));
}

// A too long message causes a different error, once it is read.
TEST_F(CredentialsOfCallsTest, NothingIsReadBeforeTheTokenIsChecked) {
  ASSERT_OK_AND_ASSIGN(const auto server, Serve("127.0.0.1:0"));
  const auto stranger = Stranger(server->address());
  EXPECT_THAT(Call(stranger, TestToken(), 1 << 20),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Call(stranger, "", 1 << 20),
              StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(CredentialsOfCallsTest, AProcessWithoutATokenNeitherServesNorCalls) {
  const auto none = With({});
  EXPECT_THAT(Serve("127.0.0.1:0", none),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(CreateChannel("127.0.0.1:1", {.credentials = none}),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(CredentialsOfCallsTest, TheTokenNeverLeavesTheHostUnencrypted) {
  const auto plain = With({.token = TestToken()});
  EXPECT_THAT(CreateChannel("10.0.0.1:7000", {.credentials = plain}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("10.0.0.1:7000"), HasSubstr("--run_dir"),
                             HasSubstr("--certificates"),
                             HasSubstr("--insecure_network"))));
  EXPECT_THAT(Serve("10.0.0.1:0", plain),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("10.0.0.1:0"), HasSubstr("--run_dir"))));
  EXPECT_OK(CreateChannel(
      "10.0.0.1:7000",
      {.credentials = With({.token = TestToken(), .insecure_network = true})}));
  EXPECT_OK(CreateChannel("127.0.0.1:7000", {.credentials = plain}));
}

TEST_F(CredentialsOfCallsTest, AnInsecureNetworkStillNeedsTheToken) {
  const auto trusting = With({.token = TestToken(), .insecure_network = true});
  ASSERT_OK_AND_ASSIGN(const auto server,
                       Serve(absl::StrCat(kHostOfOthers, ":0"), trusting));
  EXPECT_OK(Ask(server->address(), trusting));
  EXPECT_THAT(Call(Stranger(server->address())),
              StatusIs(absl::StatusCode::kUnauthenticated));
}

// Tests with the certificates that a run creates.
class TlsTest : public CredentialsOfCallsTest {
 protected:
  // Returns the credentials of a process of this run.
  std::shared_ptr<const Credentials> OfRun() { return With(run_); }
  std::shared_ptr<const Credentials> OfAnotherRun() {
    return With({.token = TestToken(),
                 .certificates = NewCertificatesOfRun(dir_ / "other.pem")});
  }
  void StartServer(std::shared_ptr<const Credentials> credentials) {
    auto server =
        Serve(absl::StrCat(kHostOfOthers, ":0"), std::move(credentials));
    ASSERT_OK(server);
    server_ = *std::move(server);
    address_ = server_->address();
  }
  void StartServer() { StartServer(OfRun()); }
  // Returns credentials of another program that trusts the server's authority
  // and knows the token; null: no certificate.
  static grpc::SslCredentialsOptions ByHand(const Certificates& authority,
                                            const Certificates* shown) {
    return {.pem_root_certs = authority.authority_pem(),
            .pem_private_key = shown == nullptr ? "" : shown->key_pem(),
            .pem_cert_chain = shown == nullptr ? "" : shown->certificate_pem()};
  }
  absl::Status AskByHand(const Certificates* shown) {
    return Call(
        Stranger(address_,
                 grpc::SslCredentials(ByHand(*run_.certificates, shown)),
                 kRunCertificateName),
        TestToken());
  }
  // Expects one more refused connection and no successful call.
  void ExpectRefused(const Certificates* shown) {
    const int64_t before = NumRefusals();
    const int calls = service_.num_calls_;
    EXPECT_FALSE(AskByHand(shown).ok());
    EXPECT_GT(NumRefusals(), before);
    EXPECT_EQ(service_.num_calls_, calls);
  }

  const TempDir dir_;
  const Credentials run_ = {
      .token = TestToken(),
      .certificates = NewCertificatesOfRun(dir_ / "certificates.pem")};
  std::unique_ptr<RpcServer> server_;
  std::string address_;
};

TEST_F(TlsTest, ProcessesOfARunConnectWhateverTheirHostsAre) {
  StartServer();
  const int64_t before = NumRefusals();
  EXPECT_OK(Ask(address_, OfRun()));
  EXPECT_EQ(NumRefusals(), before);
}

TEST_F(TlsTest, ACertificateDoesNotReplaceTheToken) {
  StartServer();
  EXPECT_THAT(Ask(address_, With({.token = std::string(64, 'b'),
                                  .certificates = run_.certificates})),
              StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(TlsTest, RefusedStrangersChangeNothing) {
  StartServer();
  ExpectRefused(nullptr);
  ExpectRefused(OfAnotherRun()->certificates.get());
  EXPECT_OK(Ask(address_, OfRun()));
}

TEST_F(TlsTest, AServerOfAnotherRunIsRefused) {
  StartServer(OfAnotherRun());
  const int64_t before = NumRefusals();
  EXPECT_THAT(Ask(address_, OfRun()), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_GT(NumRefusals(), before);
  EXPECT_EQ(service_.num_calls_, 0);
}

// An eavesdropper has the bytes of a valid certificate and of the token, but
// not the connection's keys.
TEST_F(TlsTest, ReplayedBytesAreRefused) {
  StartServer();
  ASSERT_OK_AND_ASSIGN(const Address server, ParseAddress(address_));
  const std::string path = sockets_->path() + "/proxy";
  ASSERT_OK_AND_ASSIGN(const auto proxy,
                       SocketProxy::StartToPort(path, server.port));
  const Certificates& own = *run_.certificates;
  ASSERT_OK(
      Call(Stranger("unix:" + path, grpc::SslCredentials(ByHand(own, &own)),
                    kRunCertificateName),
           TestToken()));
  const std::string recorded = proxy->recorded();
  EXPECT_EQ(service_.num_calls_, 1);
  EXPECT_FALSE(absl::StrContains(recorded, TestToken()));

  const int64_t before = NumRefusals();
  SendRaw(server.port, recorded);
  EXPECT_TRUE(Eventually([&] { return NumRefusals() > before; }));
  EXPECT_EQ(service_.num_calls_, 1);
  EXPECT_OK(AskByHand(&own));
}

TEST_F(TlsTest, NothingIsEncryptedWithinTheHost) {
  for (const std::string& address :
       {sockets_->AddressOf("control"), std::string("127.0.0.1:0")}) {
    ASSERT_OK_AND_ASSIGN(const auto server, Serve(address, OfRun()));
    EXPECT_OK(Ask(server->address(), With({.token = TestToken()})));
    EXPECT_OK(Ask(server->address(), OfRun()));
  }
}

TEST_F(TlsTest, OnlyOneEncryptingSideCausesAClearError) {
  StartServer();
  const auto plain = With({.token = TestToken(), .insecure_network = true});
  const absl::Time soon = MonotonicNow() + kBound;
  const int64_t before = NumRefusals();
  EXPECT_THAT(Ask(address_, plain), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_GT(NumRefusals(), before) << "of a connection without TLS";
  EXPECT_THAT(WhyNoAnswer(address_, *plain, soon),
              HasSubstr("leave out --insecure_network here"));
  EXPECT_THAT(WhyNoAnswer(address_, run_, soon),
              HasSubstr("refuses the other's certificate"));

  ASSERT_OK_AND_ASSIGN(const auto server,
                       Serve(absl::StrCat(kHostOfOthers, ":0"), plain));
  EXPECT_THAT(Ask(server->address(), OfRun()),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(WhyNoAnswer(server->address(), run_, soon),
              HasSubstr("leave out --insecure_network there"));
  EXPECT_THAT(WhyNoAnswer(sockets_->AddressOf("x"), *plain, soon),
              HasSubstr("nobody answers"));
}

TEST_F(TlsTest, TheErrorNamesAnAddressWithoutServer) {
  std::string address;
  {
    ASSERT_OK_AND_ASSIGN(const auto server, Serve("127.0.0.1:0"));
    address = server->address();
  }
  EXPECT_THAT(WhyNoAnswer(address, {}, MonotonicNow() + kBound),
              AllOf(HasSubstr("nobody answers"), HasSubstr("refused")));
  EXPECT_THAT(WhyNoAnswer("nonsense", {}, MonotonicNow() + kBound),
              Not(HasSubstr("nobody answers")));
}

// Tests with certificates provided by the user.
class OwnCertificatesTest : public TlsTest {
 protected:
  OwnCertificatesTest() {
    MakeAuthority(folder_);
    IssueCertificate(folder_, {"server", kHostOfOthers});
    IssueCertificate(folder_, {"client"});
  }
  std::shared_ptr<const Credentials> Of(const std::string& name) {
    return With({.token = TestToken(),
                 .certificates = LoadedCertificates(folder_, name)});
  }

  const std::string folder_ = dir_ / "certs";
};

TEST_F(OwnCertificatesTest, TheUsersCertificatesReplaceThoseOfTheRun) {
  StartServer(Of("server"));
  EXPECT_OK(Ask(address_, Of("client")));
  EXPECT_OK(Ask(address_, Of("server")));
  EXPECT_THAT(Ask(address_, OfRun()), StatusIs(absl::StatusCode::kUnavailable));
}

// Another host of the run answers at the requested address.
TEST_F(OwnCertificatesTest, AServerMustBeTheRequestedHost) {
  IssueCertificate(folder_, {"beta"});
  const auto beta = Of("beta");
  EXPECT_THAT(Serve(absl::StrCat(kHostOfOthers, ":0"), beta),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("not for LOCALHOST but for DNS:beta")));
  EXPECT_THAT(CheckCanListen(absl::StrCat(kHostOfOthers, ":0"), *beta),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {beta->certificates->key_pem(), beta->certificates->certificate_pem()});
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("localhost:0", grpc::SslServerCredentials(options),
                           &port);
  builder.RegisterService(&service_);
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  EXPECT_THAT(Ask(absl::StrCat(kHostOfOthers, ":", port), Of("client")),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("LOCALHOST is not in peer certificate")));
  server->Shutdown();
}

}  // namespace
}  // namespace gandem
