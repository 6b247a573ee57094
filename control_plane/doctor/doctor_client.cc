// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/doctor_client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "common/monotonic_time.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_calls.h"
#include "common/status.h"
#include "proto/doctor.grpc.pb.h"

namespace gandem {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr int kMostPieces = 32;
constexpr absl::Duration kEnough = absl::Seconds(2);

class DoctorClient {
 public:
  static absl::StatusOr<DoctorClient> Create(const std::string& address,
                                             absl::Time deadline) {
    GANDEM_ASSIGN_OR_RETURN(const auto channel, CreateChannel(address, {}));
    return DoctorClient(address, Doctor::NewStub(channel), deadline);
  }

  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(UnaryMethod<Doctor::Stub, Request, Reply> method,
                             const Request& request) {
    return CallOnce(*stub_, method, request, address_, *ProcessCredentials(),
                    deadline_);
  }

  // Bytes a second in one direction.
  absl::StatusOr<double> Carry(bool there) {
    CarryRequest request;
    if (there) {
      request.set_payload(std::string(kPieceBytes, '\0'));
    } else {
      request.set_reply_bytes(kPieceBytes);
    }
    const absl::Time start = MonotonicNow();
    int pieces = 0;
    while (pieces < kMostPieces && MonotonicNow() - start < kEnough) {
      GANDEM_RETURN_IF_ERROR(Call(&Doctor::Stub::Carry, request));
      ++pieces;
    }
    const double seconds = absl::ToDoubleSeconds(MonotonicNow() - start);
    return pieces * static_cast<double>(kPieceBytes) / std::max(seconds, 1e-9);
  }

 private:
  DoctorClient(std::string address, std::unique_ptr<Doctor::Stub> stub,
               absl::Time deadline)
      : address_(std::move(address)),
        stub_(std::move(stub)),
        deadline_(deadline) {}

  std::string address_;
  std::unique_ptr<Doctor::Stub> stub_;
  absl::Time deadline_;
};

}  // namespace

absl::StatusOr<PeerLook> AskForLook(const std::string& address,
                                    const std::string& nonce_file,
                                    absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(DoctorClient client,
                          DoctorClient::Create(address, deadline));
  LookRequest request;
  request.set_nonce_file(nonce_file);
  // Once for the connection, which takes longer than a call.
  GANDEM_RETURN_IF_ERROR(client.Call(&Doctor::Stub::Look, request));
  const absl::Time asked_at = absl::Now();
  const absl::Time start = MonotonicNow();
  GANDEM_ASSIGN_OR_RETURN(LookReply reply,
                          client.Call(&Doctor::Stub::Look, request));
  return PeerLook{.reply = std::move(reply),
                  .round_trip = MonotonicNow() - start,
                  .asked_at = asked_at};
}

absl::StatusOr<LinkSpeed> MeasureLink(const std::string& address,
                                      absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(DoctorClient client,
                          DoctorClient::Create(address, deadline));
  // Connects.
  GANDEM_RETURN_IF_ERROR(client.Call(&Doctor::Stub::Carry, CarryRequest()));
  LinkSpeed speed;
  GANDEM_ASSIGN_OR_RETURN(speed.there, client.Carry(/*there=*/true));
  GANDEM_ASSIGN_OR_RETURN(speed.back, client.Carry(/*there=*/false));
  return speed;
}

absl::StatusOr<double> AskForReturn(const std::string& address,
                                    const std::string& own_address,
                                    absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(DoctorClient client,
                          DoctorClient::Create(address, deadline));
  ReturnRequest request;
  request.set_address(own_address);
  GANDEM_ASSIGN_OR_RETURN(const ReturnReply reply,
                          client.Call(&Doctor::Stub::Return, request));
  return reply.bytes_per_second();
}

}  // namespace gandem
