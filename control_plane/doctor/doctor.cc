// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/doctor.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>

#include "common/monotonic_time.h"
#include "common/process/exit_code.h"
#include "common/security/credentials.h"
#include "common/security/token.h"
#include "common/status.h"
#include "control_plane/doctor/doctor_service.h"
#include "control_plane/doctor/finding.h"
#include "control_plane/doctor/folder_checks.h"
#include "control_plane/doctor/peer_checks.h"

namespace gandem {
namespace {

// Time limit of `gandem doctor --listen`.
constexpr absl::Duration kServeLimit = absl::Hours(12);

std::string TokenFile(const DoctorOptions& options) {
  return options.token_file.empty() ? TokenPath(options.run_dir)
                                    : options.token_file;
}

int64_t FreeDisk(const std::string& folder) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  return error ? 0 : static_cast<int64_t>(space.available);
}

absl::Status TakeCredentials(const DoctorOptions& options) {
  if (options.token_file.empty()) {
    GANDEM_RETURN_IF_ERROR(EnsureRunSecrets(options.run_dir));
  }
  GANDEM_ASSIGN_OR_RETURN(
      Credentials credentials,
      LoadCredentials(TokenFile(options), options.certificates,
                      options.insecure_network));
  SetProcessCredentials(std::move(credentials));
  return absl::OkStatus();
}

// Waits while gRPC's threads answer, until SIGINT, SIGTERM or kServeLimit.
void AnswerOthers() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  const absl::Time deadline = MonotonicNow() + kServeLimit;
  while (MonotonicNow() < deadline) {
    const timespec limit = absl::ToTimespec(deadline - MonotonicNow());
    if (sigtimedwait(&signals, nullptr, &limit) >= 0 || errno != EINTR) return;
  }
}

void Print(const Findings& findings, std::ostream& out) {
  for (const Finding& finding : findings) {
    out << FindingLine(finding) << std::endl;
  }
}

absl::StatusOr<Findings> CheckOthers(const DoctorOptions& options,
                                     std::ostream& out) {
  Findings all;
  if (options.hosts.empty() && options.listen.empty()) return all;
  GANDEM_RETURN_IF_ERROR(TakeCredentials(options));
  DoctorService service(options.run_dir);
  std::unique_ptr<RpcServer> server;
  std::string own_address;
  if (!options.listen.empty()) {
    GANDEM_ASSIGN_OR_RETURN(server,
                            StartDoctorServer(options.listen, &service));
    own_address = server->address();
  }
  for (const std::string& host : options.hosts) {
    const Findings found = CheckPeer(host, own_address, options.run_dir);
    Print(found, out);
    all.insert(all.end(), found.begin(), found.end());
  }
  if (options.hosts.empty() && options.recipe.empty()) {
    out << "listening at " << own_address << " for gandem doctor --host "
        << own_address << " on other hosts; Ctrl-C ends this" << std::endl;
    AnswerOthers();
  }
  return all;
}

Findings CheckHere(const DoctorOptions& options,
                   const CheckRunHook& check_run) {
  Findings findings = {CheckRunFolder(options.run_dir),
                       CheckSecrets(TokenFile(options), options.certificates)};
  if (options.recipe.empty()) return findings;
  const absl::StatusOr<RunConfig> config = check_run();
  if (config.ok()) {
    findings.push_back(
        Fine("run", config->name() + " passes the checks of gandem train"));
    findings.push_back(CheckDisk(*config, CheckpointBytes(options.run_dir),
                                 FreeDisk(options.run_dir)));
  } else {
    findings.push_back(
        Fault("run", std::string(config.status().message()),
              "gandem train would refuse it; gandem explain describes the "
              "fields of a recipe"));
  }
  return findings;
}

}  // namespace

absl::StatusOr<int> RunDoctor(const DoctorOptions& options,
                              const CheckRunHook& check_run,
                              std::ostream& out) {
  const Findings here = CheckHere(options, check_run);
  Print(here, out);
  // Checks of other hosts use the secrets and the proof file in the run folder.
  const bool has_folder =
      std::ranges::none_of(here, [](const Finding& finding) {
        return finding.check == kRunFolderCheck &&
               finding.verdict == Finding::Verdict::kFault;
      });
  if (!has_folder) return kExitFaults;
  GANDEM_ASSIGN_OR_RETURN(const Findings others, CheckOthers(options, out));
  return HasFault(here) || HasFault(others) ? kExitFaults
                                            : static_cast<int>(kExitOk);
}

}  // namespace gandem
