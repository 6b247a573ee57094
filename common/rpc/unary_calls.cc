// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/unary_calls.h"

#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/crc32c.h"
#include "common/monotonic_time.h"
#include "common/wire_header.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace gandem {
namespace {

constexpr char kChecksumKey[] = "gandem-crc32c";
constexpr char kDamaged[] = "damaged";

std::string ChecksumText(absl::string_view bytes) {
  return absl::StrCat(absl::Hex(TextCrc32c(bytes), absl::kZeroPad8));
}

std::string AnswerChecksum(const grpc::Status& status,
                           absl::string_view reply) {
  if (status.ok()) return ChecksumText(reply);
  return ChecksumText(absl::StrCat(static_cast<int>(status.error_code()), ":",
                                   status.error_message(), ":",
                                   status.error_details()));
}

std::optional<absl::string_view> ChecksumIn(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  const auto it = metadata.find(kChecksumKey);
  if (it == metadata.end()) return std::nullopt;
  return absl::string_view(it->second.data(), it->second.size());
}

}  // namespace

std::string CheckedBytes(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

void SayChecksum(absl::string_view request, grpc::ClientContext& call) {
  call.AddMetadata(kChecksumKey, ChecksumText(request));
}

absl::Status CheckRequest(absl::string_view request,
                          const grpc::ServerContextBase& call) {
  const std::optional<absl::string_view> said =
      ChecksumIn(call.client_metadata());
  if (!said.has_value() || *said == ChecksumText(request)) {
    return absl::OkStatus();
  }
  ErrorDetail detail;
  detail.set_reason(kDamaged);
  detail.set_retryable(true);
  return WithErrorDetail(DamagedCall(Damage::kRequest), detail);
}

void SayAnswer(const grpc::Status& status, absl::string_view reply,
               grpc::ServerContextBase& call) {
  call.AddTrailingMetadata(kChecksumKey, AnswerChecksum(status, reply));
}

Damage JudgeAnswer(const grpc::Status& status, absl::string_view reply,
                   const grpc::ClientContext& call) {
  const std::optional<absl::string_view> said =
      ChecksumIn(call.GetServerTrailingMetadata());
  if (said.has_value()) {
    if (*said != AnswerChecksum(status, reply)) return Damage::kReply;
    const std::optional<ErrorDetail> detail =
        GetErrorDetail(FromGrpcStatus(status));
    return detail.has_value() && detail->reason() == kDamaged ? Damage::kRequest
                                                              : Damage::kNone;
  }
  switch (status.error_code()) {
    case grpc::StatusCode::INTERNAL:  // the request cannot be parsed
      return Damage::kRequest;
    case grpc::StatusCode::UNIMPLEMENTED:      // the method's name
    case grpc::StatusCode::UNAUTHENTICATED:    // the token
    case grpc::StatusCode::PERMISSION_DENIED:  // HTTP's status
    case grpc::StatusCode::UNKNOWN:
      return Damage::kPossible;
    default:
      return Damage::kNone;
  }
}

absl::Status DamagedCall(Damage damage) {
  return DamagedMessage("call", damage == Damage::kReply
                                    ? "checksum of the answer"
                                    : "checksum of the request");
}

absl::Status UnaryCalls::NoteDamage(Damage damage,
                                    const grpc::Status& answer) const {
  if (damage != Damage::kRequest && damage != Damage::kReply) {
    return FromGrpcStatus(answer);
  }
  if (on_damage_) on_damage_(/*is_outgoing=*/damage == Damage::kRequest);
  return DamagedCall(damage);
}

absl::Status UnaryCalls::Begin(grpc::ClientContext& context) {
  // Without this, a call that fails before the server listens would leave gRPC
  // to notice the connection by a poll every 5 seconds.
  context.set_wait_for_ready(true);
  absl::MutexLock lock(&mu_);
  if (is_cancelled_) return cancelled_;
  running_.insert(&context);
  return absl::OkStatus();
}

absl::Status UnaryCalls::End(grpc::ClientContext& context,
                             const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  running_.erase(&context);
  if (is_cancelled_) return cancelled_;
  return absl::IsCancelled(status)
             ? absl::UnavailableError("the call was cut off")
             : status;
}

void UnaryCalls::Cancel(bool for_good) {
  absl::MutexLock lock(&mu_);
  is_cancelled_ = is_cancelled_ || for_good;
  for (grpc::ClientContext* context : running_) context->TryCancel();
}

bool UnaryCalls::WaitUntil(absl::Time time) {
  absl::MutexLock lock(&mu_);
  return !AwaitUntil(&mu_, absl::Condition(&is_cancelled_), time);
}

}  // namespace gandem
