// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the calls to a worker in profile mode. An input is a list of calls: a
// byte for the kind of call, a byte for the request's size, and the request as
// protobuf bytes. Training and opening sockets are omitted: a config is read,
// and a transfer is checked. The fourth kind of call ends the worker, after
// which no call is answered.
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/config/run_config.h"
#include "common/control/measure_service.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "tests/fuzz/input_file.h"
#include "worker/profile/transfer_probe.h"

namespace gandem {
namespace {

// Handler with profile_mode.cc's checks, but without training.
class CheckingHandler : public MeasureHandler {
 public:
  absl::StatusOr<PrepareReply> Prepare(const PrepareRequest& request) override {
    if (is_prepared_) {
      return absl::FailedPreconditionError("a process has one probe");
    }
    GANDEM_ASSIGN_OR_RETURN(
        const RunConfig config,
        ParseRunConfig(request.config_text(), "the probe's config", {}));
    is_prepared_ = true;
    return PrepareReply();
  }
  absl::StatusOr<MeasureReply> Measure(const MeasureRequest&) override {
    if (!is_prepared_) {
      return absl::FailedPreconditionError("nothing was prepared");
    }
    return MeasureReply();
  }
  absl::StatusOr<TransferReply> Transfer(
      const TransferRequest& request) override {
    GANDEM_RETURN_IF_ERROR(CheckTransfer(request));
    // MeasureTransfer relies on these conditions without another check.
    GANDEM_CHECK(request.rank() >= 0 &&
                 request.rank() < request.addresses_size());
    GANDEM_CHECK(request.repetitions() > 0);
    for (const int64_t bytes : request.bytes()) GANDEM_CHECK(bytes > 0);
    return TransferReply();
  }

 private:
  bool is_prepared_ = false;
};

class AskedWorker {
 public:
  ~AskedWorker() { service_.Stop(); }

  void Call(int which, absl::string_view bytes) {
    switch (which % 4) {
      case 0:
        return Ask<PrepareRequest>(&MeasureService::Prepare, bytes);
      case 1:
        return Ask<MeasureRequest>(&MeasureService::Measure, bytes);
      case 2:
        return Ask<TransferRequest>(&MeasureService::Transfer, bytes);
      default:
        service_.Stop();
        is_over_ = true;
    }
  }

 private:
  template <typename Request, typename Reply>
  void Ask(grpc::Status (MeasureService::*method)(grpc::ServerContext*,
                                                  const Request*, Reply*),
           absl::string_view bytes) {
    Request request;
    if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return;  // never reaches a handler
    }
    grpc::ServerContext context;
    Reply reply;
    const grpc::Status status = (service_.*method)(&context, &request, &reply);
    if (is_over_) {
      GANDEM_CHECK(status.error_code() == grpc::StatusCode::CANCELLED);
      return;
    }
    GANDEM_CHECK(status.ok() ||
                 status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
                 status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
    GANDEM_CHECK(status.ok() || !status.error_message().empty());
  }

  CheckingHandler handler_;
  MeasureService service_{&handler_};
  bool is_over_ = false;
  Thread compute_{"compute", [this] { service_.Serve(); }};  // ends first
};

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  AskedWorker worker;
  ForEachCall(TextOf(data, size), [&](int which, absl::string_view bytes) {
    worker.Call(which, bytes);
  });
  return 0;
}
