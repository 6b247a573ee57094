// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/doctor_service.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/control/numerics.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/monotonic_time.h"
#include "common/process/host_identity.h"
#include "common/rpc/grpc_status.h"
#include "common/version.h"
#include "control_plane/doctor/doctor_client.h"

namespace gandem {
namespace {

constexpr absl::Duration kWayBackLimit = absl::Seconds(20);
constexpr int64_t kMaxMessageBytes = 64 << 10;
constexpr int64_t kMaxNonceBytes = 1 << 10;

// The text of a file that was named by another process: only one that
// CheckPeer() writes is read. NOT_FOUND: this host does not see it.
absl::StatusOr<std::string> ReadNonce(const std::string& run_dir,
                                      const std::string& file) {
  absl::string_view number = file;
  if (!absl::ConsumePrefix(&number, kNoncePrefix) ||
      number.size() != 2 * kNonceNameBytes ||
      !std::ranges::all_of(number, absl::ascii_isxdigit)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "nonce_file '", Printable(file, 100), "' is no name of a nonce"));
  }
  return ReadFile(absl::StrCat(run_dir, "/state/", file), kMaxNonceBytes);
}

}  // namespace

grpc::Status DoctorService::Look(grpc::ServerContext* /*context*/,
                                 const LookRequest* request, LookReply* reply) {
  const absl::StatusOr<std::string> nonce =
      request->nonce_file().empty()
          ? absl::StatusOr<std::string>("")
          : ReadNonce(run_dir_, request->nonce_file());
  if (absl::IsInvalidArgument(nonce.status())) {
    return ToGrpcStatus(nonce.status());
  }
  reply->set_version(std::string(GandemVersion()));
  reply->set_host(ThisHost().name);
  reply->set_unix_seconds(
      absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  reply->set_nonce(nonce.value_or(""));
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
