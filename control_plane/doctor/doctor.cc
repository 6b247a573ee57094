// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/doctor.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/exit_code.h"
#include "common/process/machine.h"
#include "common/security/credentials.h"
#include "common/security/token.h"
#include "common/status.h"
#include "control_plane/doctor/doctor_service.h"
#include "control_plane/doctor/folder_checks.h"
#include "control_plane/doctor/host_checks.h"
#include "control_plane/doctor/peer_checks.h"

namespace gandem {
namespace {

// A doctor that nobody ends does not listen for ever.
constexpr absl::Duration kServeLimit = absl::Hours(12);

int64_t DescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<int64_t>(
      std::min<rlim_t>(limit.rlim_max, rlim_t{1} << 30));
}

// How long the run takes, by its plan; zero: not known.
absl::Duration LengthOf(const DoctorSubject& subject) {
  if (!subject.plan.has_value()) return absl::ZeroDuration();
  return static_cast<double>(subject.config.rounds()) *
         absl::Seconds(subject.plan->prediction().round_seconds());
}

// The first one is not there yet: its size is computed.
CheckpointSize SizeOfCheckpoint(const DoctorOptions& options,
                                const DoctorHooks& hooks,
                                const RunConfig& config) {
  const int64_t bytes = CheckpointBytes(options.run_dir);
  if (bytes > 0) return {.bytes = bytes};
  return {.bytes = hooks.predict_checkpoint(config), .is_predicted = true};
}

absl::Status TakeCredentials(const DoctorOptions& options) {
  std::string token_file = options.token_file;
  if (token_file.empty()) {
    token_file = TokenPath(options.run_dir);
    GANDEM_RETURN_IF_ERROR(EnsureRunSecrets(options.run_dir));
  }
  GANDEM_ASSIGN_OR_RETURN(Credentials credentials,
                          LoadCredentials(token_file, options.certificates,
                                          options.insecure_network));
  SetProcessCredentials(std::move(credentials));
  return absl::OkStatus();
}

// Until SIGINT or SIGTERM.
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

Findings CheckHere(const DoctorOptions& options, const DoctorHooks& hooks) {
  Findings findings = {CheckDescriptors(DescriptorLimit()),
                       CheckRunFolder(options.run_dir),
                       CheckSecrets(options.run_dir)};
  absl::Duration length;
  if (!options.recipe.empty()) {
    const absl::StatusOr<DoctorSubject> subject = hooks.check_run();
    if (subject.ok()) {
      const RunConfig& config = subject->config;
      findings.push_back(
          Fine("run", config.name() + " passes the checks of gandem train"));
      findings.push_back(CheckDisk(config,
                                   SizeOfCheckpoint(options, hooks, config),
                                   FreeDisk(options.run_dir)));
      findings.push_back(CheckMemory(
          subject->plan.has_value() ? &*subject->plan : nullptr, FreeMemory()));
      length = LengthOf(*subject);
    } else {
      findings.push_back(
          Fault("run", std::string(subject.status().message()),
                "gandem train would refuse it; gandem explain describes the "
                "fields of a recipe"));
    }
  }
  if (!options.certificates.empty()) {
    findings.push_back(
        CheckCertificates(options.certificates, length, absl::Now()));
  }
  return findings;
}

}  // namespace

absl::StatusOr<int> RunDoctor(const DoctorOptions& options,
                              const DoctorHooks& hooks, std::ostream& out) {
  const Findings here = CheckHere(options, hooks);
  Print(here, out);
  // The run's secrets and the proof that a folder is shared are in it.
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
