// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the messages to `gandem doctor --listen` and the answers of a doctor.
// The first byte selects the message.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "control_plane/doctor/doctor_service.h"
#include "control_plane/doctor/peer_checks.h"
#include "proto/doctor.pb.h"

namespace gandem {
namespace {

void CheckLine(const Finding& finding) {
  const std::string line = FindingLine(finding);
  GANDEM_CHECK(line.find('\n') == std::string::npos && line.size() <= 2000);
}

void Answered(const LookReply& reply) {
  const PeerLook look = {.reply = reply,
                         .round_trip = absl::Milliseconds(1),
                         .asked_at = absl::FromUnixSeconds(1000)};
  CheckLine(JudgeVersion(reply.host(), reply.version()));
  CheckLine(JudgeClock(reply.host(), look));
  const FolderProof proof = {.file = "state/doctor-0123456789abcdef",
                             .text = "text"};
  const Finding shared = JudgeFolder(reply.host(), "run", proof, reply);
  CheckLine(shared);
  GANDEM_CHECK((shared.verdict == Finding::Verdict::kOk) ==
               (reply.nonce() == proof.text));
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  gandem::DoctorService service("/nonexistent");
  gandem::LookRequest look;
  gandem::LookReply reply;
  if (data[0] == 0 && look.ParseFromString(bytes)) {
    service.Look(nullptr, &look, &reply);
    GANDEM_CHECK(reply.nonce().empty());
  } else if (data[0] == 2 && reply.ParseFromString(bytes)) {
    gandem::Answered(reply);
  }
  return 0;
}
