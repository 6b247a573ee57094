// SPDX-License-Identifier: Apache-2.0
#include "collective/transport_collective.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "common/trace/trace.h"

namespace gandem {
namespace {

class TransportCollective : public Collective {
 public:
  TransportCollective(const RunnerOptions& options,
                      std::unique_ptr<Transport> transport)
      : transport_(std::move(transport)),
        runner_(options, transport_.get()),
        thread_("collective", [this] { RunAll(); }) {}

  // An idle collective lets the others take its data; else it stops them.
  ~TransportCollective() override {
    bool is_idle = false;
    {
      absl::MutexLock lock(&mu_);
      ending_ = true;
      is_idle = connected_ && waiting_.empty();
    }
    if (!is_idle) Close(absl::CancelledError("the collective was destroyed"));
    thread_.Join();
  }

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }

  absl::Status Wait(Ticket ticket, absl::Time deadline) override {
    absl::MutexLock lock(&mu_);
    GANDEM_CHECK(ticket >= 1 && ticket <= submitted_);
    const auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return done_ >= ticket || stopped_;
    };
    bool is_ready = ready();
    if (!is_ready) {
      const TraceSpan span("collective wait");
      const absl::Time begin = MonotonicNow();
      ++waiters_;
      is_ready = AwaitUntil(&mu_, absl::Condition(&ready), deadline);
      --waiters_;
      waited_ += MonotonicNow() - begin;
    }
    if (!is_ready) return NotDone(ticket);
    return done_ >= ticket ? absl::OkStatus() : failure_;
  }

  CollectiveStats stats() const override {
    absl::MutexLock lock(&mu_);
    const absl::Duration now_busy = stopped_ || waiting_.empty()
                                        ? absl::ZeroDuration()
                                        : MonotonicNow() - busy_since_;
    return {
        .sent_bytes = sent_bytes_, .busy = busy_ + now_busy, .waited = waited_};
  }

  int waits_for() const override {
    absl::MutexLock lock(&mu_);
    return waiters_ > 0 ? transport_->rank_waited_for() : -1;
  }

  void Close(absl::Status reason) override {
    GANDEM_CHECK(!reason.ok());
    {
      absl::MutexLock lock(&mu_);
      if (failure_.ok()) failure_ = reason;
    }
    transport_->Close(std::move(reason));
  }

 private:
  // After a failure, tickets are still numbered: Wait() returns the reason.
  Ticket Submit(const Operation& operation) override {
    absl::MutexLock lock(&mu_);
    if (!stopped_) {
      if (waiting_.empty()) busy_since_ = MonotonicNow();
      waiting_.push_back(operation);
    }
    return ++submitted_;
  }

  // Not a failure. Names the awaited ranks for the user.
  absl::Status NotDone(Ticket ticket) const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    std::string message =
        absl::StrCat("rank ", rank(), ": operation ", ticket,
                     " of the collective waits, ", done_, " are done");
    const std::string whom = transport_->waits_for();
    if (!whom.empty()) absl::StrAppend(&message, "; waiting for ", whom);
    return absl::DeadlineExceededError(message);
  }

  void RunAll() {
    absl::Status status = transport_->Connect();
    for (Ticket number = 1; status.ok(); ++number) {
      const std::optional<Operation> next = Next();
      if (!next.has_value()) break;
      status = Run(number, *next);
      if (status.ok()) NoteDone();
    }
    if (!status.ok()) transport_->Close(status);
    absl::MutexLock lock(&mu_);
    if (failure_.ok()) failure_ = status;
    if (!waiting_.empty()) busy_ += MonotonicNow() - busy_since_;
    stopped_ = true;
  }

  absl::Status Run(Ticket number, const Operation& operation) {
    const TraceSpan span(
        NameOf(operation.kind),
        {"bytes", static_cast<int64_t>(operation.buffer.size())});
    return runner_.Run(number, operation);
  }

  // Waits for the next operation, once connected. Returns nothing at the end.
  std::optional<Operation> Next() {
    absl::MutexLock lock(&mu_);
    connected_ = true;
    const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return ending_ || !failure_.ok() || !waiting_.empty();
    };
    mu_.Await(absl::Condition(&ready));
    if (waiting_.empty() || !failure_.ok()) return std::nullopt;
    return waiting_.front();
  }

  void NoteDone() {
    absl::MutexLock lock(&mu_);
    ++done_;
    waiting_.pop_front();
    sent_bytes_ = runner_.sent_bytes();
    if (waiting_.empty()) busy_ += MonotonicNow() - busy_since_;
  }

  const std::unique_ptr<Transport> transport_;
  OperationRunner runner_;  // used by the thread

  mutable absl::Mutex mu_;
  bool connected_ ABSL_GUARDED_BY(mu_) = false;
  // Operations that are not done; the first one may be running.
  std::deque<Operation> waiting_ ABSL_GUARDED_BY(mu_);
  Ticket submitted_ ABSL_GUARDED_BY(mu_) = 0;
  Ticket done_ ABSL_GUARDED_BY(mu_) = 0;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;  // no operation runs any more
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  // first failure
  int64_t sent_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Duration busy_ ABSL_GUARDED_BY(mu_);  // without the current operation
  // Time at which waiting_ became nonempty; valid while it is nonempty.
  absl::Time busy_since_ ABSL_GUARDED_BY(mu_);
  absl::Duration waited_ ABSL_GUARDED_BY(mu_);
  int waiters_ ABSL_GUARDED_BY(mu_) = 0;
  Thread thread_;  // last: uses all members above
};

}  // namespace

std::unique_ptr<Collective> CreateTransportCollective(
    const RunnerOptions& options, std::unique_ptr<Transport> transport) {
  return std::make_unique<TransportCollective>(options, std::move(transport));
}

}  // namespace gandem
