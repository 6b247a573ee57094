// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/doctor_service.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/control/numerics.h"
#include "common/files/printable.h"
#include "common/monotonic_time.h"
#include "common/process/host_identity.h"
#include "common/results/run_folder.h"
#include "common/rpc/grpc_status.h"
#include "common/version.h"
#include "control_plane/doctor/doctor_client.h"

namespace gandem {
namespace {

constexpr absl::Duration kWayBackLimit = absl::Seconds(20);
constexpr int64_t kMaxMessageBytes = 64 << 10;

}  // namespace

grpc::Status DoctorService::Look(grpc::ServerContext* /*context*/,
                                 const LookRequest* request, LookReply* reply) {
  // Accepts only names of proof files, because the name is untrusted.
  const std::string& name = request->nonce_file();
  absl::string_view digits = name;
  if (!name.empty() && (!absl::ConsumePrefix(&digits, kDoctorProof) ||
                        !std::ranges::all_of(digits, absl::ascii_isxdigit))) {
    return ToGrpcStatus(absl::InvalidArgumentError(absl::StrCat(
        "nonce_file '", Printable(name, 100), "' is no name of a proof")));
  }
  reply->set_version(std::string(GandemVersion()));
  reply->set_host(ThisHost().name);
  reply->set_unix_seconds(
      absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  if (!name.empty()) {
    reply->set_nonce(
        RunFolder(run_dir_).ReadProof("state/" + name).value_or(""));
  }
  const Numerics numerics = ProcessNumerics();
  reply->mutable_numerics()->insert(numerics.begin(), numerics.end());
  return grpc::Status::OK;
}

grpc::Status DoctorService::Return(grpc::ServerContext* /*context*/,
                                   const ReturnRequest* request,
                                   ReturnReply* /*reply*/) {
  return ToGrpcStatus(AskForLook(request->address(), /*nonce_file=*/"",
                                 MonotonicNow() + kWayBackLimit)
                          .status());
}

absl::StatusOr<std::unique_ptr<RpcServer>> StartDoctorServer(
    const std::string& address, DoctorService* service) {
  return RpcServer::Start(
      {.address = address, .rpc = {.max_message_bytes = kMaxMessageBytes}},
      [service](grpc::ServerBuilder& builder) {
        builder.RegisterService(service);
      });
}

}  // namespace gandem
