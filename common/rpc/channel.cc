// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/channel.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/printable.h"
#include "common/monotonic_time.h"
#include "common/process/log.h"
#include "common/rpc/guarded_calls.h"
#include "common/rpc/listen_check.h"
#include "common/security/refusals.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::Duration kKeepaliveInterval = absl::Seconds(30);
// Timeout of a TCP connection, after which the name is looked up again.
constexpr absl::Duration kConnectTimeout = absl::Seconds(10);
// Minimum time between two lookups of a name.
constexpr absl::Duration kResolveInterval = absl::Seconds(2);
// Limit for gRPC's message about a failed handshake; chosen, above any.
constexpr size_t kMaxRefusalBytes = 300;

absl::StatusOr<std::shared_ptr<const Credentials>> CredentialsOf(
    const RpcOptions& options) {
  std::shared_ptr<const Credentials> credentials =
      options.credentials != nullptr ? options.credentials
                                     : ProcessCredentials();
  if (credentials != nullptr && !credentials->token.empty()) return credentials;
  return absl::InternalError(
      "SetProcessCredentials() comes before channels and servers");
}

// gRPC only logs why it cannot listen, so this asks the system again.
absl::Status WhyNoServer(const Address& address) {
  GANDEM_RETURN_IF_ERROR(TryToListen(address));
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", ToString(address)));
}

// Percent-encodes the path, because gRPC parses addresses as URIs.
std::string ToGrpcTarget(const Address& address) {
  if (!address.is_unix()) return ToString(address);
  std::string target = "unix:";
  for (const char byte : address.unix_path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(byte)) ||
        absl::StrContains("/-_.~", byte)) {
      target += byte;
    } else {
      absl::StrAppend(
          &target, "%",
          absl::Hex(static_cast<unsigned char>(byte), absl::kZeroPad2));
    }
  }
  return target;
}

// Handles gRPC's own log lines: errors are also returned as Status, and direct
// output would disrupt the progress bar.
void LogOfGrpc(gpr_log_func_args* line) {
  // Failed assertions abort; all other lines are about retried connections.
  if (absl::StartsWith(line->message, "assertion failed")) {
    GANDEM_LOG_ERROR("grpc: {}:{}: {}", line->file, line->line, line->message);
  } else {
    GANDEM_LOG_DEBUG("grpc: {}", line->message);
  }
  // Only this log line reports a peer without TLS or with a bad certificate.
  if (line->severity == GPR_LOG_SEVERITY_ERROR &&
      absl::EndsWith(line->file, "ssl_transport_security.cc")) {
    NoteRefusal(
        absl::StrCat("TLS: ", Printable(line->message, kMaxRefusalBytes)));
  }
}

// Keeps gRPC running until the process ends. Otherwise gRPC 1.51 stops its
// threads with the last channel or server, which can take 10 s (a thread still
// polls) or abort (an event is left in the shared queue of callback calls). A
// worker's exchange restarts in every run epoch.
class Keeper {
 public:
  // Makes one callback call so that its channel holds the shared queue.
  Keeper()
      : stub_(grpc::CreateChannel("unix:/nonexistent",
                                  grpc::InsecureChannelCredentials())) {
    const grpc::Slice nothing;
    request_ = grpc::ByteBuffer(&nothing, 1);
    grpc_init();
    context_.set_deadline(std::chrono::system_clock::now());
    stub_.UnaryCall(&context_, "/gandem.None/None", grpc::StubOptions(),
                    &request_, &reply_, [](const grpc::Status&) {});
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer reply_;
};

void StartGrpc() {
  static const Keeper* const keeper = [] {
    gpr_set_log_function(LogOfGrpc);
    // Enabled globally; servers that do not offer it turn it off.
    grpc::EnableDefaultHealthCheckService(true);
    return new Keeper;  // never destroyed
  }();
  (void)keeper;
}

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void Prepare(const RpcOptions& options, bool is_unix,
             grpc::ServerBuilder& builder) {
  const int max_bytes = static_cast<int>(options.max_message_bytes);
  builder.SetMaxSendMessageSize(max_bytes);
  builder.SetMaxReceiveMessageSize(max_bytes);
  // Otherwise two servers could share a port and each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Allows the pings of CreateChannel; gRPC's default is one in 5 minutes.
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      Milliseconds(kKeepaliveInterval / 2));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  if (is_unix) {
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE,
                               options.probes_bandwidth ? 1 : 0);
    return;
  }
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             Milliseconds(kKeepaliveInterval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_timeout));
}

void LeaveHealthOut(grpc::ServerBuilder& builder) {
  builder.SetOption(
      std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(nullptr));
}

}  // namespace

std::chrono::system_clock::time_point ToGrpcDeadline(absl::Time deadline) {
  const absl::Time wall = absl::FromChrono(std::chrono::system_clock::now());
  const absl::Time time = wall + (deadline - MonotonicNow());
  return absl::ToChronoTime(std::max(time, absl::UnixEpoch()));
}

// Reconnects quickly and detects a silent peer, unlike gRPC's defaults.
absl::StatusOr<std::shared_ptr<grpc::Channel>> CreateChannel(
    absl::string_view address, const RpcOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  GANDEM_ASSIGN_OR_RETURN(auto credentials, CredentialsOf(options));
  GANDEM_RETURN_IF_ERROR(CheckConnectAddress(parsed, *credentials));
  StartGrpc();
  const int max_bytes = static_cast<int>(options.max_message_bytes);
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(max_bytes);
  arguments.SetMaxReceiveMessageSize(max_bytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Prevents channels to one address from sharing a connection and its backoff.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   parsed.is_unix() ? 200 : 2000);
  if (parsed.is_unix()) {
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE,
                     options.probes_bandwidth ? 1 : 0);
  } else {
    // A name may get a new address, for example of a recreated pod. By default
    // gRPC would look it up every 30 s and wait 20 s for the old address.
    arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS,
                     Milliseconds(kResolveInterval));
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                     Milliseconds(kConnectTimeout));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS,
                     Milliseconds(kKeepaliveInterval));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                     Milliseconds(options.keepalive_timeout));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return GuardedChannel(ToGrpcTarget(parsed), parsed, arguments,
                        std::move(credentials));
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const Options& options,
    absl::FunctionRef<void(grpc::ServerBuilder&)> add_services) {
  GANDEM_ASSIGN_OR_RETURN(Address address, ParseAddress(options.address));
  GANDEM_ASSIGN_OR_RETURN(auto credentials, CredentialsOf(options.rpc));
  GANDEM_RETURN_IF_ERROR(CheckMayListen(address, *credentials));
  if (address.is_unix()) {
    GANDEM_RETURN_IF_ERROR(CheckUnixSocketIsFree(address));
  }
  StartGrpc();
  grpc::ServerBuilder builder;
  Prepare(options.rpc, address.is_unix(), builder);
  int port = 0;
  builder.AddListeningPort(
      ToGrpcTarget(address),
      GuardedServerCredentials(address, std::move(credentials),
                               options.offers_health),
      &port);
  if (!options.offers_health) LeaveHealthOut(builder);
  builder.experimental().SetInterceptorCreators(ReplyDamage());
  add_services(builder);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return WhyNoServer(address);
  if (!address.is_unix()) address.port = port;
  return std::unique_ptr<RpcServer>(
      new RpcServer(std::move(address), std::move(server)));
}

RpcServer::RpcServer(Address address, std::unique_ptr<grpc::Server> server)
    : address_(std::move(address)), server_(std::move(server)) {}

RpcServer::~RpcServer() { Shutdown(absl::InfinitePast()); }

void RpcServer::Shutdown(absl::Time deadline) {
  server_->Shutdown(ToGrpcDeadline(deadline));
  server_->Wait();
}

}  // namespace gandem
