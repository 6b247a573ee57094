// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/certificates_command.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/process/host_identity.h"
#include "common/rpc/address.h"
#include "common/security/certificate_authority.h"
#include "common/status.h"

namespace gandem {
namespace {

// Clocks of hosts differ a little.
constexpr absl::Duration kClockDifference = absl::Minutes(10);
// Hosts may join for as long.
constexpr absl::Duration kAuthorityTime = absl::Hours(24 * 3650);

using Hosts = std::vector<std::string>;

// This machine, under its name and its addresses.
Hosts HostsOfThisMachine() {
  Hosts hosts = {ThisHost().name};
  for (std::string& address : AddressesForOthers()) {
    hosts.push_back(std::move(address));
  }
  return hosts;
}

std::string CopyAdvice(const std::string& folder, const std::string& name) {
  return absl::StrCat("  ", folder, "/", name, ".crt  ", folder, "/", name,
                      ".key\n");
}

absl::Status Revoke(const CertificatesOptions& options, std::ostream& out) {
  GANDEM_RETURN_IF_ERROR(RevokeCertificate(options.folder, options.revoke));
  out << options.revoke << " is revoked: copy " << options.folder
      << "/revoked into the folder of each host's certificates. Connections "
         "that are open stay open until a process at one end is started "
         "again.\n";
  return absl::OkStatus();
}

}  // namespace

absl::Status RunCertificates(const CertificatesOptions& options,
                             std::ostream& out) {
  if (!options.revoke.empty()) return Revoke(options, out);
  std::vector<Hosts> all;
  for (const std::string& host : options.hosts) {
    all.push_back(absl::StrSplit(host, ','));
  }
  if (all.empty()) all.push_back(HostsOfThisMachine());
  const absl::Time from = absl::Now() - kClockDifference;
  GANDEM_ASSIGN_OR_RETURN(
      const bool is_new,
      EnsureAuthority(options.folder, {from, from + kAuthorityTime}));
  const absl::Time until = absl::Now() + absl::Hours(24 * options.days);
  for (const Hosts& hosts : all) {
    GANDEM_RETURN_IF_ERROR(
        IssueCertificate(options.folder, hosts, {from, until}));
  }
  out << (is_new ? "made an authority and " : "made ") << all.size()
      << (all.size() == 1 ? " certificate" : " certificates") << " in "
      << options.folder << ", valid until "
      << absl::FormatTime("%Y-%m-%d", until, absl::UTCTimeZone())
      << "\nCopy to each host, into a folder that only you can read, "
      << options.folder << "/ca.crt and\n";
  for (const Hosts& hosts : all) {
    out << "to " << absl::StrJoin(hosts, ", ") << ":\n"
        << CopyAdvice(options.folder, CertificateName(hosts));
  }
  out << "and pass --certificates FOLDER to what runs there. Keep "
      << options.folder
      << "/ca.key here: whoever has it can make more of them.\n";
  return absl::OkStatus();
}

}  // namespace gandem
