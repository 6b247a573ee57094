// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/grpc_status.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/check.h"
#include "common/files/printable.h"

namespace gandem {
namespace {

constexpr absl::string_view kDetailUrl = "gandem/ErrorDetail";
constexpr size_t kMaxMessage = 2000;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string message(status.message().substr(0, kMaxMessage));
  if (message.size() < status.message().size())
    absl::StrAppend(&message, "...");
  const absl::optional<absl::Cord> detail = status.GetPayload(kDetailUrl);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message,
                      detail.has_value() ? std::string(*detail) : "");
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  // Escapes the message, which may be from an untrusted peer.
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()),
                      PrintableText(status.error_message()));
  // Ignores details of other kinds.
  ErrorDetail detail;
  if (!status.error_details().empty() &&
      detail.ParseFromString(status.error_details())) {
    result = WithErrorDetail(std::move(result), detail);
  }
  return result;
}

absl::Status WithErrorDetail(absl::Status status, const ErrorDetail& detail) {
  GANDEM_CHECK(!status.ok());
  status.SetPayload(kDetailUrl, absl::Cord(detail.SerializeAsString()));
  return status;
}

std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kDetailUrl);
  ErrorDetail detail;
  if (!payload.has_value() || !detail.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return detail;
}

}  // namespace gandem
