// SPDX-License-Identifier: Apache-2.0
#include "collective/nccl_collective.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "common/status.h"

namespace gandem {
namespace {

// Interval of state checks: NCCL cannot wake a thread at a deadline.
constexpr absl::Duration kPollInterval = absl::Microseconds(50);

absl::Status ToStatus(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what, ": CUDA: ", cudaGetErrorString(error)));
}

// In progress is no error, because communicators are non-blocking.
absl::Status ToStatus(ncclResult_t result, absl::string_view what) {
  if (result == ncclSuccess || result == ncclInProgress) {
    return absl::OkStatus();
  }
  const absl::string_view text = ncclGetErrorString(result);
  switch (result) {
    case ncclRemoteError:
      return absl::UnavailableError(
          absl::StrCat(what, ": a rank is lost: ", text));
    case ncclInvalidUsage:
      return absl::FailedPreconditionError(absl::StrCat(
          what, ": NCCL: ", text,
          "; every rank needs a GPU of its own (NCCL_DEBUG=WARN says more)"));
    default:
      return absl::InternalError(absl::StrCat(what, ": NCCL: ", text));
  }
}

absl::StatusOr<int> CountDevices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  return absl::FailedPreconditionError(absl::StrCat(
      "collective: NCCL: this host has no usable GPU (",
      error == cudaSuccess ? "no device" : cudaGetErrorString(error),
      "); choose another collective (sync.collective=RING), or run where "
      "nvidia-smi lists one"));
}

absl::Status CheckDevice(int device) {
  GANDEM_ASSIGN_OR_RETURN(const int count, CountDevices());
  if (device < 0 || device >= count) {
    return absl::FailedPreconditionError(
        absl::StrCat("collective: NCCL: device ", device, " is not in [0, ",
                     count - 1, "]"));
  }
  return ToStatus(cudaSetDevice(device), "cudaSetDevice");
}

ncclDataType_t ToNccl(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return ncclFloat32;
    case ElementType::kFloat64:
      return ncclFloat64;
    case ElementType::kBfloat16:
      return ncclBfloat16;
    case ElementType::kFloat16:
      return ncclFloat16;
  }
  return ncclFloat32;
}

class NcclCollective : public Collective {
 public:
  NcclCollective(const NcclOptions& options, int rank, int size)
      : options_(options), rank_(rank), size_(size) {}

  // Finalizing lets the other ranks finish, unless something failed.
  ~NcclCollective() override {
    absl::MutexLock lock(&mu_);
    const bool is_idle = waiting_.empty() && !launching_.has_value() &&
                         launched_.empty() && failure_.ok();
    if (communicator_ != nullptr && is_idle) {
      (void)ncclCommFinalize(communicator_);
      (void)WaitForCommunicator(MonotonicNow() + kFarewell, "ncclCommFinalize");
    }
    // Ends kernels that wait for other ranks.
    Abort();
    for (const std::deque<Entry>* entries : {&waiting_, &launched_}) {
      for (const Entry& entry : *entries) (void)cudaEventDestroy(entry.event);
    }
    if (launching_.has_value()) (void)cudaEventDestroy(launching_->event);
    if (barrier_value_ != nullptr) (void)cudaFree(barrier_value_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  absl::Status Connect(const ncclUniqueId& id, absl::Time deadline) {
    absl::MutexLock lock(&mu_);
    GANDEM_RETURN_IF_ERROR(
        ToStatus(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
                 "cudaStreamCreate"));
    GANDEM_RETURN_IF_ERROR(
        ToStatus(cudaMalloc(&barrier_value_, sizeof(float)), "cudaMalloc"));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    GANDEM_RETURN_IF_ERROR(ToStatus(
        ncclCommInitRankConfig(&communicator_, size_, id, rank_, &config),
        "ncclCommInitRankConfig"));
    return WaitForCommunicator(deadline, "ncclCommInitRankConfig");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  // Polls and advances the operations, because there is no thread.
  absl::Status Wait(Ticket ticket, absl::Time deadline) override {
    while (true) {
      {
        absl::MutexLock lock(&mu_);
        GANDEM_CHECK(ticket >= 1 && ticket <= submitted_);
        Advance();
        if (done_ >= ticket) return absl::OkStatus();
        if (!failure_.ok()) return failure_;
        if (MonotonicNow() >= deadline) {
          return absl::DeadlineExceededError(
              absl::StrCat("rank ", rank_, ": operation ", ticket,
                           " of NCCL waits, ", done_, " are done"));
        }
      }
      absl::SleepFor(kPollInterval);
    }
  }

  void Close(absl::Status reason) override {
    GANDEM_CHECK(!reason.ok());
    absl::MutexLock lock(&mu_);
    Fail(std::move(reason));
  }

 private:
  // An operation. Its event first marks the filled buffer, then the end.
  struct Entry {
    Ticket ticket = 0;
    Operation operation = {};
    cudaEvent_t event = nullptr;
  };
  static constexpr absl::Duration kFarewell = absl::Seconds(5);

  Ticket Submit(const Operation& operation) override {
    absl::MutexLock lock(&mu_);
    Entry entry = {.ticket = ++submitted_, .operation = operation};
    if (!failure_.ok()) return submitted_;
    if (absl::Status status = Accept(entry); !status.ok()) {
      Fail(std::move(status));
    }
    Advance();
    return submitted_;
  }

  absl::Status Accept(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    // This thread may belong to autograd.
    GANDEM_RETURN_IF_ERROR(
        ToStatus(cudaSetDevice(options_.device), "cudaSetDevice"));
    GANDEM_RETURN_IF_ERROR(
        ToStatus(cudaEventCreateWithFlags(&entry.event, cudaEventDisableTiming),
                 "cudaEventCreate"));
    waiting_.push_back(entry);
    return ToStatus(cudaEventRecord(entry.event, static_cast<cudaStream_t>(
                                                     options_.compute_stream)),
                    "cudaEventRecord");
  }

  // Launches waiting operations and collects finished ones. Never blocks: a
  // non-blocking communicator takes one operation at a time, and the first ones
  // only when all ranks are connected.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!failure_.ok()) return;
    absl::Status status = Launch();
    if (status.ok()) status = NoteDone();
    if (!status.ok()) Fail(std::move(status));
  }

  // Records an operation's event once the communicator has taken it.
  absl::Status Launch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (true) {
      ncclResult_t state = ncclSuccess;
      GANDEM_RETURN_IF_ERROR(
          ToStatus(ncclCommGetAsyncError(communicator_, &state), "collective"));
      if (state == ncclInProgress) return absl::OkStatus();
      GANDEM_RETURN_IF_ERROR(ToStatus(state, "collective"));
      if (launching_.has_value()) {
        launched_.push_back(*launching_);
        launching_.reset();
        GANDEM_RETURN_IF_ERROR(
            ToStatus(cudaEventRecord(launched_.back().event, stream_),
                     "cudaEventRecord"));
      }
      if (waiting_.empty()) return absl::OkStatus();
      launching_ = waiting_.front();
      waiting_.pop_front();
      GANDEM_RETURN_IF_ERROR(
          ToStatus(cudaStreamWaitEvent(stream_, launching_->event, 0),
                   "cudaStreamWaitEvent"));
      GANDEM_RETURN_IF_ERROR(
          ToStatus(Enqueue(launching_->operation), "collective"));
    }
  }

  // The stream runs operations in order: stops at the first unfinished.
  absl::Status NoteDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (!launched_.empty()) {
      const Entry& first = launched_.front();
      const cudaError_t error = cudaEventQuery(first.event);
      if (error == cudaErrorNotReady) break;
      GANDEM_RETURN_IF_ERROR(ToStatus(error, "collective"));
      done_ = first.ticket;
      (void)cudaEventDestroy(first.event);
      launched_.pop_front();
    }
    return absl::OkStatus();
  }

  ncclResult_t Enqueue(const Operation& operation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::byte* const data = operation.buffer.data();
    const size_t bytes = operation.buffer.size();
    switch (operation.kind) {
      case OperationKind::kAllReduce:
        return ncclAllReduce(
            data, data, bytes / BytesPerElement(operation.type),
            ToNccl(operation.type), ncclSum, communicator_, stream_);
      case OperationKind::kBroadcast:
        return ncclBroadcast(data, data, bytes, ncclUint8, operation.root,
                             communicator_, stream_);
      case OperationKind::kAllGather: {
        const size_t block = bytes / size_;
        return ncclAllGather(data + rank_ * block, data, block, ncclUint8,
                             communicator_, stream_);
      }
      case OperationKind::kBarrier:
        return ncclAllReduce(barrier_value_, barrier_value_, 1, ncclFloat32,
                             ncclSum, communicator_, stream_);
    }
    return ncclInvalidArgument;
  }

  // Polls until NCCL has finished starting or ending.
  absl::Status WaitForCommunicator(absl::Time deadline, absl::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (true) {
      ncclResult_t state = ncclSuccess;
      GANDEM_RETURN_IF_ERROR(
          ToStatus(ncclCommGetAsyncError(communicator_, &state), what));
      if (state != ncclInProgress) return ToStatus(state, what);
      if (options_.interrupted) GANDEM_RETURN_IF_ERROR(options_.interrupted());
      if (MonotonicNow() >= deadline) {
        return absl::DeadlineExceededError(
            absl::StrCat(what, ": rank ", rank_, " of ", size_,
                         " waits for the other ranks"));
      }
      absl::SleepFor(kPollInterval);
    }
  }

  // Ends kernels that wait for other ranks, which frees the buffers.
  void Fail(absl::Status reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!failure_.ok()) return;
    failure_ = std::move(reason);
    Abort();
  }

  void Abort() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (communicator_ == nullptr) return;
    (void)ncclCommAbort(communicator_);
    communicator_ = nullptr;
    (void)cudaStreamSynchronize(stream_);
  }

  const NcclOptions options_;
  const int rank_;
  const int size_;

  absl::Mutex mu_;
  ncclComm_t communicator_ ABSL_GUARDED_BY(mu_) = nullptr;
  cudaStream_t stream_ ABSL_GUARDED_BY(mu_) = nullptr;
  void* barrier_value_ ABSL_GUARDED_BY(mu_) = nullptr;
  // Entries in submission order, across these three members.
  std::deque<Entry> launched_ ABSL_GUARDED_BY(mu_);
  std::optional<Entry> launching_ ABSL_GUARDED_BY(mu_);
  std::deque<Entry> waiting_ ABSL_GUARDED_BY(mu_);
  Ticket submitted_ ABSL_GUARDED_BY(mu_) = 0;
  Ticket done_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  // first failure
};

// Sends the id of rank 0 to all ranks.
absl::StatusOr<ncclUniqueId> ShareId(Collective* bootstrap,
                                     absl::Time deadline) {
  ncclUniqueId id = {};
  if (bootstrap->rank() == 0) {
    GANDEM_RETURN_IF_ERROR(ToStatus(ncclGetUniqueId(&id), "ncclGetUniqueId"));
  }
  const absl::Status shared = bootstrap->Wait(
      bootstrap->Broadcast(std::as_writable_bytes(std::span(&id, 1)), 0),
      deadline);
  if (shared.ok()) return id;
  // The buffer goes out of scope.
  bootstrap->Close(shared);
  return shared;
}

}  // namespace

absl::Status CheckNccl() { return CountDevices().status(); }

absl::StatusOr<std::unique_ptr<Collective>> CreateNccl(
    const NcclOptions& options, Collective* bootstrap, absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(CheckDevice(options.device));
  GANDEM_ASSIGN_OR_RETURN(const ncclUniqueId id, ShareId(bootstrap, deadline));
  auto result = std::make_unique<NcclCollective>(options, bootstrap->rank(),
                                                 bootstrap->size());
  GANDEM_RETURN_IF_ERROR(result->Connect(id, deadline));
  return result;
}

}  // namespace gandem
