// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/peer_checks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/monotonic_time.h"
#include "common/random_text.h"
#include "common/version.h"
#include "control_plane/doctor/doctor_service.h"

namespace gandem {
namespace {

constexpr absl::Duration kCallLimit = absl::Seconds(10);
constexpr absl::Duration kReturnLimit = absl::Seconds(30);
constexpr absl::Duration kMostClockDifference = absl::Seconds(1);

std::string HostOf(const std::string& address, const LookReply& reply) {
  return absl::StrCat(reply.host(), " (", address, ")");
}

Finding Unreachable(const std::string& address, const absl::Status& why) {
  const std::string text =
      absl::StrCat(address, ": ", std::string(why.message()));
  if (absl::IsUnauthenticated(why)) {
    return Fault("reach", text,
                 "it has another token: its run folder is not this one, or "
                 "give both --token_file");
  }
  return Fault("reach", text,
               "start gandem doctor --listen there, open the port in its "
               "firewall, and see that the name resolves");
}

Finding WayBack(const std::string& peer, const std::string& address,
                const std::string& own_address) {
  const absl::Status reached =
      AskForReturn(address, own_address, MonotonicNow() + kReturnLimit);
  if (reached.ok()) {
    return Fine("way back", absl::StrCat(peer, " reaches ", own_address));
  }
  return Fault("way back",
               absl::StrCat(peer, " does not reach ", own_address, ": ",
                            std::string(reached.message())),
               "open this host's ports for it, and give --listen an address "
               "that it can resolve and reach");
}

}  // namespace

Finding JudgeVersion(const std::string& peer, const std::string& version) {
  if (version == GandemVersion()) {
    return Fine("version", absl::StrCat(peer, " has gandem ", version));
  }
  return Fault("version",
               absl::StrCat(peer, " has gandem ", version, ", this host ",
                            GandemVersion()),
               "install the same release on all hosts");
}

Finding JudgeClock(const std::string& peer, const PeerLook& look) {
  const absl::Time there =
      absl::UnixEpoch() + absl::Seconds(look.reply.unix_seconds());
  // The peer read its clock at some moment within the call.
  const absl::Time here = look.asked_at + look.round_trip / 2;
  const absl::Duration difference = there - here;
  const std::string text =
      absl::StrFormat("%s's is %+.3f s off (+- %.3f s)", peer,
                      absl::ToDoubleSeconds(difference),
                      absl::ToDoubleSeconds(look.round_trip / 2));
  if (absl::AbsDuration(difference) - look.round_trip / 2 <=
      kMostClockDifference) {
    return Fine("clock", text);
  }
  return Fault("clock", text,
               "let both hosts set their clocks by NTP (timedatectl, chronyc "
               "tracking): certificates and logs go by them");
}

Finding JudgeFolder(const std::string& peer, const std::string& run_dir,
                    const FolderProof& proof, const LookReply& reply) {
  if (reply.nonce() == proof.text) {
    return Fine("shared folder",
                absl::StrCat(peer, " sees what is written into ", run_dir));
  }
  return Fault(
      "shared folder",
      absl::StrCat(peer, " does not see what is written into ", run_dir),
      "put the run folder on a file system that all hosts mount; "
      "--run_dir there names it as that host sees it");
}

Finding JudgeNumerics(const std::string& peer, const LookReply& reply,
                      const Numerics& here) {
  const OwnedNumerics both[] = {
      {.owner = "this host", .numerics = here},
      {.owner = peer,
       .numerics = {reply.numerics().begin(), reply.numerics().end()}}};
  const std::string differences = NumericsDifferences(both);
  if (differences.empty()) {
    return Fine("bits", absl::StrCat(peer, " is of the same kind"));
  }
  return Warning("bits", PrintableText(differences), kNumericsAdvice);
}

Findings CheckPeer(const std::string& address, const std::string& own_address,
                   const std::string& run_dir) {
  const auto proof = RunFolder(run_dir).WriteProof(kDoctorProof);
  if (!proof.ok()) {
    return {Fault("shared folder", std::string(proof.status().message()),
                  "it has to be writable here first")};
  }
  const auto look = AskForLook(address, proof->file.substr(sizeof("state")),
                               MonotonicNow() + kCallLimit);
  const absl::Status removed = RemoveAll(run_dir + "/" + proof->file);
  if (!look.ok()) return {Unreachable(address, look.status())};
  const std::string peer = HostOf(address, look->reply);
  Findings findings = {JudgeVersion(peer, look->reply.version()),
                       JudgeClock(peer, *look),
                       JudgeFolder(peer, run_dir, *proof, look->reply),
                       JudgeNumerics(peer, look->reply, ProcessNumerics())};
  if (!own_address.empty()) {
    findings.push_back(WayBack(peer, address, own_address));
  }
  if (!removed.ok()) {
    findings.push_back(Warning("run folder", std::string(removed.message()),
                               "remove state/doctor-* by hand"));
  }
  return findings;
}

}  // namespace gandem
