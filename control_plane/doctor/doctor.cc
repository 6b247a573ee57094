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
#include "common/process/binary_folder.h"
#include "common/process/cores.h"
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

Finding CheckData(const DoctorHooks& hooks, const RunConfig& config) {
  const absl::Status readable = hooks.check_dataset(config.data());
  if (readable.ok()) return Fine("dataset", "it can be read");
  return Fault("dataset", std::string(readable.message()),
               "every discriminator's host has to see it under this name");
}

// The first one is not there yet: its size is computed.
CheckpointSize SizeOfCheckpoint(const DoctorOptions& options,
                                const DoctorHooks& hooks,
                                const RunConfig& config) {
  const int64_t bytes = CheckpointBytes(options.run_dir);
  if (bytes > 0) return {.bytes = bytes};
  return {.bytes = hooks.predict_checkpoint(config), .is_predicted = true};
}

Finding CheckProgramsHere() {
  const auto folder = BinaryFolder();
  if (folder.ok()) return CheckPrograms(*folder);
  return Fault("programs", std::string(folder.status().message()),
               "start gandem from where it is installed");
}

absl::StatusOr<std::string> NcclOfWorkers() {
  GANDEM_ASSIGN_OR_RETURN(const std::string folder, BinaryFolder());
  return FindLibrary(folder + "/discriminator_worker", kNcclLibrary);
}

absl::Status TakeCredentials(const DoctorOptions& options) {
  std::string token_file = options.token_file;
  if (token_file.empty()) {
    token_file = TokenPath(options.run_dir);
    GANDEM_RETURN_IF_ERROR(CreateDirectories(options.run_dir + "/state"));
    GANDEM_RETURN_IF_ERROR(ReadOrCreateToken(token_file));
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

// Else nobody touches it again: its mount may hang.
bool FolderWorks(const Findings& findings) {
  return std::ranges::none_of(findings, [](const Finding& finding) {
    return finding.check == kRunFolderCheck &&
           finding.verdict == Finding::Verdict::kFault;
  });
}

}  // namespace

Findings CheckHere(const DoctorOptions& options, const DoctorHooks& hooks) {
  Findings findings = {CheckProgramsHere(), CheckDescriptors(DescriptorLimit()),
                       CheckRunFolder(options.run_dir)};
  const bool folder_works = FolderWorks(findings);
  if (folder_works) {
    findings.push_back(CheckToken(options.run_dir));
    findings.push_back(CheckNumerics(options.run_dir, ProcessNumerics()));
  }
  absl::StatusOr<DoctorSubject> subject = DoctorSubject();
  const bool has_subject = !options.recipe.empty();
  if (has_subject) subject = hooks.subject();
  if (!subject.ok()) {
    findings.push_back(Fault("recipe or plan",
                             std::string(subject.status().message()),
                             "gandem explain describes its fields"));
  } else if (has_subject) {
    const RunConfig& config = subject->config;
    findings.push_back(Fine(subject->plan.has_value() ? "plan" : "recipe",
                            absl::StrCat(config.name(), " can be run")));
    if (folder_works) {
      findings.push_back(CheckDisk(config,
                                   SizeOfCheckpoint(options, hooks, config),
                                   FreeDisk(options.run_dir)));
    }
    findings.push_back(CheckMemory(
        subject->plan.has_value() ? &*subject->plan : nullptr, FreeMemory()));
    findings.push_back(CheckCores(
        config, static_cast<int>(AllowedCores().size()), UsableCores()));
    findings.push_back(CheckGpus(config, "/dev"));
    findings.push_back(CheckNccl(config, GANDEM_HAS_NCCL, NcclOfWorkers()));
    findings.push_back(CheckData(hooks, config));
  }
  if (!options.certificates.empty()) {
    const absl::Duration needed =
        subject.ok() ? LengthOf(*subject) : absl::ZeroDuration();
    findings.push_back(
        CheckCertificates(options.certificates, needed, absl::Now()));
  }
  return findings;
}

absl::StatusOr<int> RunDoctor(const DoctorOptions& options,
                              const DoctorHooks& hooks, std::ostream& out) {
  const Findings here = CheckHere(options, hooks);
  Print(here, out);
  // The token and the proof that a folder is shared are in it.
  if (!FolderWorks(here)) return kExitFaults;
  GANDEM_ASSIGN_OR_RETURN(const Findings others, CheckOthers(options, out));
  return HasFault(here) || HasFault(others) ? kExitFaults
                                            : static_cast<int>(kExitOk);
}

}  // namespace gandem
