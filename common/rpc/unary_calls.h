// SPDX-License-Identifier: Apache-2.0
//
// Calls with one message each way: with a deadline, and the answer or a Status.
//
// Owner: a client. Thread safety: any thread.
// Errors of a call: the server's, as FromGrpcStatus has them, UNAVAILABLE and
// DEADLINE_EXCEEDED.
#pragma once

#include <grpcpp/grpcpp.h>

#include <set>
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

// Calls that wait for a server, and that another thread can end:
//   UNAVAILABLE  also: the server cancelled the call, or Cancel(false).
//   CANCELLED    after Cancel(true), and only then; says what the constructor
//                was given.
class UnaryCalls {
 public:
  explicit UnaryCalls(absl::string_view why_cancelled)
      : cancelled_(absl::CancelledError(why_cancelled)) {}

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

  // Ends the calls of now, and with `for_good` all later ones.
  void Cancel(bool for_good);

  // False: Cancel(true) came before `time`.
  bool WaitUntil(absl::Time time);

 private:
  absl::Status Begin(grpc::ClientContext& context);
  absl::Status End(grpc::ClientContext& context, const absl::Status& status);

  const absl::Status cancelled_;
  absl::Mutex mu_;
  std::set<grpc::ClientContext*> running_ ABSL_GUARDED_BY(mu_);
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace gandem
