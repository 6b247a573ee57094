// SPDX-License-Identifier: Apache-2.0
//
// Server of proto/measure.proto in a worker. The threads of gRPC pass each call
// to the compute thread and wait for its answer until the caller's deadline.
//
// Owner: a worker in profile mode; outlives its server. Thread safety: any
// thread; Serve from the compute thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/channel.h"
#include "proto/measure.grpc.pb.h"

namespace gandem {

class MeasureHandler {
 public:
  virtual ~MeasureHandler() = default;
  virtual absl::StatusOr<PrepareReply> Prepare(const PrepareRequest&) = 0;
  virtual absl::StatusOr<MeasureReply> Measure(const MeasureRequest&) = 0;
  virtual absl::StatusOr<TransferReply> Transfer(const TransferRequest&) = 0;
};

class MeasureService final : public Measuring::Service {
 public:
  // `handler` must outlive the service.
  explicit MeasureService(MeasureHandler* handler) : handler_(handler) {}

  // Answers calls on the calling thread, in order, until Stop().
  void Serve();
  // Any thread. Queued calls get CANCELLED.
  void Stop();

  grpc::Status Prepare(grpc::ServerContext* context,
                       const PrepareRequest* request,
                       PrepareReply* reply) override;
  grpc::Status Measure(grpc::ServerContext* context,
                       const MeasureRequest* request,
                       MeasureReply* reply) override;
  grpc::Status Transfer(grpc::ServerContext* context,
                        const TransferRequest* request,
                        TransferReply* reply) override;

 private:
  // Answers a call (true) or cancels it (false).
  using Job = std::function<void(bool)>;

  template <typename Request, typename Reply>
  grpc::Status Answer(
      absl::StatusOr<Reply> (MeasureHandler::*method)(const Request&),
      const grpc::ServerContext& context, const Request& request, Reply* reply);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return stopped_ || !jobs_.empty();
  }

  MeasureHandler* const handler_;
  absl::Mutex mu_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

// `service` must outlive the server. Errors: those of RpcServer::Start.
absl::StatusOr<std::unique_ptr<RpcServer>> StartMeasureServer(
    const std::string& address, MeasureService* service);

}  // namespace gandem
