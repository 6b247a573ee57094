// SPDX-License-Identifier: Apache-2.0
#include "collective/single_process.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/check.h"

namespace gandem {
namespace {

class SingleProcess : public Collective {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  absl::Status Wait(Ticket ticket, absl::Time) override {
    absl::MutexLock lock(&mu_);
    GANDEM_CHECK(ticket >= 1 && ticket <= submitted_);
    return ticket <= done_ ? absl::OkStatus() : closed_;
  }

  void Close(absl::Status reason) override {
    GANDEM_CHECK(!reason.ok());
    absl::MutexLock lock(&mu_);
    if (closed_.ok()) closed_ = std::move(reason);
  }

 private:
  Ticket Submit(const Operation&) override {
    absl::MutexLock lock(&mu_);
    ++submitted_;
    if (closed_.ok()) done_ = submitted_;
    return submitted_;
  }

  absl::Mutex mu_;
  Ticket submitted_ ABSL_GUARDED_BY(mu_) = 0;
  Ticket done_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::unique_ptr<Collective> CreateSingleProcess() {
  return std::make_unique<SingleProcess>();
}

}  // namespace gandem
