// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/keep_grpc.h"

#include <grpc/grpc.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

namespace gandem {
namespace {

// One callback call, so that its channel holds the shared queue for good.
class Keeper {
 public:
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

}  // namespace

void KeepGrpcRunning() {
  static Keeper* const keeper = new Keeper;  // never destroyed
  (void)keeper;
}

}  // namespace gandem
