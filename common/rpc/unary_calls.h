// SPDX-License-Identifier: Apache-2.0
//
// Unary calls with a deadline, and optionally checksums.
//
// Checked calls detect flipped bits, which TCP's weak checksum and memory may
// miss. Metadata contains a CRC32C of the request, and trailing metadata one of
// the reply or error. The checksum covers the parsed content of a message,
// because gRPC parses the bytes first. A message without a checksum is
// accepted, since one flipped bit damages either the message or its checksum.
//
// Owner: a client. Thread safety: any thread.
// Errors of a call: the server's (see FromGrpcStatus), UNAVAILABLE,
// DEADLINE_EXCEEDED, and the errors below.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/why_no_answer.h"
#include "common/security/credentials.h"
#include "common/status.h"
#include "google/protobuf/message_lite.h"

namespace gandem {

// Method of a generated stub, for example &Control::Stub::Status.
template <typename Stub, typename Request, typename Reply>
using UnaryMethod = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&,
                                           Reply*);

// Makes a call with the options of `context`.
template <typename Stub, typename Request, typename Reply>
absl::StatusOr<Reply> CallIn(grpc::ClientContext& context, Stub& stub,
                             UnaryMethod<Stub, Request, Reply> method,
                             const Request& request, absl::Time deadline) {
  context.set_deadline(ToGrpcDeadline(deadline));
  Reply reply;
  const grpc::Status status = (stub.*method)(&context, request, &reply);
  if (!status.ok()) return FromGrpcStatus(status);
  return reply;
}

// Fails at once if nobody listens at `address`, and says why.
template <typename Stub, typename Request, typename Reply>
absl::StatusOr<Reply> CallOnce(Stub& stub,
                               UnaryMethod<Stub, Request, Reply> method,
                               const Request& request,
                               absl::string_view address,
                               const Credentials& credentials,
                               absl::Time deadline) {
  grpc::ClientContext context;
  auto reply = CallIn(context, stub, method, request, deadline);
  if (reply.ok()) return reply;
  return WithReason(reply.status(), address, credentials);
}

// Returns the bytes under the checksum. They are equal for equal messages,
// unlike SerializeAsString() with its arbitrary order of map entries.
std::string CheckedBytes(const google::protobuf::MessageLite& message);

// Adds the checksum of the request before the call starts.
void SayChecksum(absl::string_view request, grpc::ClientContext& call);
//   DATA_LOSS  the request differs from the one that was sent
absl::Status CheckRequest(absl::string_view request,
                          const grpc::ServerContextBase& call);

// Adds the checksum of `reply` or of an error before the call ends.
void SayAnswer(const grpc::Status& status, absl::string_view reply,
               grpc::ServerContextBase& call);

enum class Damage {
  kNone,
  kPossible,  // perhaps in gRPC's own data: retry
  kRequest,
  kReply,
};
// Checks the answer of a completed call.
Damage JudgeAnswer(const grpc::Status& status, absl::string_view reply,
                   const grpc::ClientContext& call);

// Returns the error of a call with this damage.
absl::Status DamagedCall(Damage damage);

// Checks the request, calls `handle` and adds the checksum of the answer.
template <typename Request, typename Reply, typename Handle>
grpc::Status AnswerChecked(grpc::ServerContextBase& call,
                           const Request& request, const Handle& handle,
                           Reply* reply) {
  const absl::Status whole = CheckRequest(CheckedBytes(request), call);
  absl::StatusOr<Reply> result =
      whole.ok() ? handle() : absl::StatusOr<Reply>(whole);
  const grpc::Status status = ToGrpcStatus(result.status());
  if (result.ok()) *reply = *std::move(result);
  SayAnswer(status, CheckedBytes(*reply), call);
  return status;
}

// A stub of a server that can switch to a new connection.
// Thread safety: any thread.
template <typename Service>
class ReconnectingStub {
 public:
  ReconnectingStub(absl::string_view address,
                   const std::shared_ptr<grpc::Channel>& channel)
      : address_(address), stub_(Service::NewStub(channel)) {}

  std::shared_ptr<typename Service::Stub> Get() const ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return stub_;
  }

  // Uses a new connection for later calls (see MayBeDamage).
  void Reconnect() ABSL_LOCKS_EXCLUDED(mu_) {
    const auto channel = CreateChannel(address_, RpcOptions());
    if (!channel.ok()) return;  // keep the old connection
    absl::MutexLock lock(&mu_);
    stub_ = Service::NewStub(*channel);
  }

 private:
  const std::string address_;
  mutable absl::Mutex mu_;
  std::shared_ptr<typename Service::Stub> stub_ ABSL_GUARDED_BY(mu_);
};

// Calls that wait for a server and can be cancelled by another thread:
//   UNAVAILABLE  also: the server cancelled the call, or Cancel(false)
//   CANCELLED    only after Cancel(true); the message is `why_cancelled`
//   DATA_LOSS    CheckedCall: damaged twice, at the first try and the retry
class UnaryCalls {
 public:
  // Calls `on_damage`, if set, for each damaged request or answer.
  explicit UnaryCalls(absl::string_view why_cancelled,
                      std::function<void(bool is_outgoing)> on_damage = {})
      : cancelled_(absl::CancelledError(why_cancelled)),
        on_damage_(std::move(on_damage)) {}

  template <typename Stub, typename Request, typename Reply>
  absl::StatusOr<Reply> Call(Stub& stub,
                             UnaryMethod<Stub, Request, Reply> method,
                             const Request& request, absl::Time deadline) {
    grpc::ClientContext context;
    GANDEM_RETURN_IF_ERROR(Begin(context));
    auto reply = CallIn(context, stub, method, request, deadline);
    GANDEM_RETURN_IF_ERROR(End(context, reply.status()));
    return reply;
  }

  // Makes a checked call and retries it once, for servers that use
  // AnswerChecked. The server must ignore a repeated request.
  template <typename Service, typename Request, typename Reply>
  absl::StatusOr<Reply> CheckedCall(
      ReconnectingStub<Service>& stub,
      UnaryMethod<typename Service::Stub, Request, Reply> method,
      const Request& request, absl::Time deadline) {
    for (bool is_again = false;; is_again = true) {
      grpc::ClientContext context;
      GANDEM_RETURN_IF_ERROR(Begin(context));
      SayChecksum(CheckedBytes(request), context);
      context.set_deadline(ToGrpcDeadline(deadline));
      Reply reply;
      const grpc::Status answer =
          (stub.Get().get()->*method)(&context, request, &reply);
      const Damage damage = JudgeAnswer(answer, CheckedBytes(reply), context);
      const absl::Status status = End(context, NoteDamage(damage, answer));
      // A damaged length makes the peer wait for bytes until the deadline.
      if (damage != Damage::kNone || absl::IsDeadlineExceeded(status)) {
        stub.Reconnect();
      }
      if (damage != Damage::kNone && !is_again) continue;
      GANDEM_RETURN_IF_ERROR(status);
      return reply;
    }
  }

  // Cancels the current calls, and with `for_good` all later ones.
  void Cancel(bool for_good);

  // Returns false if Cancel(true) was called before `time`.
  bool WaitUntil(absl::Time time);

 private:
  // Reports damage and returns the result of the call.
  absl::Status NoteDamage(Damage damage, const grpc::Status& answer) const;
  absl::Status Begin(grpc::ClientContext& context);
  absl::Status End(grpc::ClientContext& context, const absl::Status& status);

  const absl::Status cancelled_;
  const std::function<void(bool is_outgoing)> on_damage_;
  absl::Mutex mu_;
  std::set<grpc::ClientContext*> running_ ABSL_GUARDED_BY(mu_);
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace gandem
