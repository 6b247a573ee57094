// SPDX-License-Identifier: Apache-2.0
//
// Calls with one message each way: with a deadline, and the answer or a Status.
//
// Calls for which a flipped bit could do harm unnoticed are checked. The
// metadata of the call holds a CRC32C of the request; trailing metadata holds
// one of the answer, reply or error. TCP's own checksum is weak and memory has
// none; TLS has a better one. The checksum covers the content of a message:
// gRPC parses the bytes, and a bit without meaning may differ. A message
// without a checksum is accepted, since one flipped bit hits either the message
// or its checksum.
//
// Owner: a client. Thread safety: any thread.
// Errors of a call: the server's, as FromGrpcStatus has them, UNAVAILABLE,
// DEADLINE_EXCEEDED, and those below.
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

// As generated stubs have them: &Control::Stub::Status.
template <typename Stub, typename Request, typename Reply>
using UnaryMethod = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&,
                                           Reply*);

// One that `context` says more about.
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

// Fails at once where nobody listens; says why nobody at `address` answers.
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

// The bytes of `message` that the checksums are of: the same for equal
// messages, whereas SerializeAsString() writes the entries of a map in any
// order.
std::string CheckedBytes(const google::protobuf::MessageLite& message);

// Before the call starts.
void SayChecksum(absl::string_view request, grpc::ClientContext& call);
//   DATA_LOSS  the request is not what its caller has sent.
absl::Status CheckRequest(absl::string_view request,
                          const grpc::ServerContextBase& call);

// Before the call ends, of `reply` or of an error.
void SayAnswer(const grpc::Status& status, absl::string_view reply,
               grpc::ServerContextBase& call);

enum class Damage {
  kNone,
  kPossible,  // of what gRPC itself looks at: worth another try
  kRequest,
  kReply,
};
// Checks the answer of a completed call.
Damage JudgeAnswer(const grpc::Status& status, absl::string_view reply,
                   const grpc::ClientContext& call);

// Error of a call with this damage.
absl::Status DamagedCall(Damage damage);

// A server's answer: what `handle` says to a request that is whole.
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

// A server's stub, with a connection that can be left for a new one.
// Thread safety: any thread.
template <typename Service>
class ReconnectingStub {
 public:
  // `channel` leads to `address`.
  ReconnectingStub(absl::string_view address,
                   const std::shared_ptr<grpc::Channel>& channel)
      : address_(address), stub_(Service::NewStub(channel)) {}

  std::shared_ptr<typename Service::Stub> Get() const ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return stub_;
  }

  // For the calls from now on (see MayBeDamage).
  void Reconnect() ABSL_LOCKS_EXCLUDED(mu_) {
    const auto channel = CreateChannel(address_, RpcOptions());
    if (!channel.ok()) return;  // the one there was is as good
    absl::MutexLock lock(&mu_);
    stub_ = Service::NewStub(*channel);
  }

 private:
  const std::string address_;
  mutable absl::Mutex mu_;
  std::shared_ptr<typename Service::Stub> stub_ ABSL_GUARDED_BY(mu_);
};

// Calls that wait for a server, and that another thread can end:
//   UNAVAILABLE  also: the server cancelled the call, or Cancel(false).
//   CANCELLED    after Cancel(true), and only then; says what the constructor
//                was given.
//   DATA_LOSS    of CheckedCall: damaged on its way, and again when it was sent
//                once more.
class UnaryCalls {
 public:
  // `on_damage` hears of each request (`is_outgoing`) or answer that was
  // damaged; it may be empty.
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

  // The same, checked and sent again once, of a service that answers with
  // AnswerChecked. A request that comes twice does no more than once.
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
      // A wrong length makes a peer wait for what never comes.
      if (damage != Damage::kNone || absl::IsDeadlineExceeded(status)) {
        stub.Reconnect();
      }
      if (damage != Damage::kNone && !is_again) continue;
      GANDEM_RETURN_IF_ERROR(status);
      return reply;
    }
  }

  // Ends the calls of now, and with `for_good` all later ones.
  void Cancel(bool for_good);

  // False: Cancel(true) came before `time`.
  bool WaitUntil(absl::Time time);

 private:
  // How the call ended.
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
