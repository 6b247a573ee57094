// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_credentials.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/security/token.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kMaxPathBytes = 8192;

// Content of the note for --insecure_network; no absolute path equals it.
constexpr char kInsecure[] = "insecure_network";

// Returns the path of the note. The note holds the path of the certificates
// that replace the run's own, or kInsecure; a run with its own has no note.
std::string NotePath(const std::string& run_dir) {
  return run_dir + "/state/control.certificates";
}

}  // namespace

absl::Status TakeRunCredentials(const std::string& run_dir,
                                const std::string& certificates,
                                bool insecure_network) {
  GANDEM_RETURN_IF_ERROR(EnsureRunSecrets(run_dir));
  GANDEM_ASSIGN_OR_RETURN(
      Credentials credentials,
      LoadCredentials(TokenPath(run_dir), certificates, insecure_network));
  const Certificates* const own = credentials.certificates.get();
  GANDEM_RETURN_IF_ERROR(
      own != nullptr && own->are_of_run()
          ? RemoveAll(NotePath(run_dir))
          : WriteFileDurably(
                NotePath(run_dir),
                absl::StrCat(
                    own == nullptr ? kInsecure : AbsoluteName(own->path()),
                    "\n")));
  SetProcessCredentials(std::move(credentials));
  return absl::OkStatus();
}

std::vector<std::string> CredentialFlags() {
  const auto credentials = ProcessCredentials();
  const Certificates* const own = credentials->certificates.get();
  std::vector<std::string> flags = {"--token_file", credentials->token_file};
  if (own == nullptr) {
    flags.emplace_back("--insecure_network");
  } else if (!own->are_of_run()) {
    flags.insert(flags.end(), {"--certificates", AbsoluteName(own->path())});
  }
  return flags;
}

absl::StatusOr<std::shared_ptr<const Credentials>> CredentialsOfRun(
    const std::string& run_dir, const std::string& certificates) {
  std::string own = certificates;
  if (own.empty()) {
    const auto note = ReadFile(NotePath(run_dir), kMaxPathBytes);
    if (note.ok()) own = std::string(absl::StripAsciiWhitespace(*note));
  }
  const bool is_insecure = certificates.empty() && own == kInsecure;
  const absl::StatusOr<Credentials> credentials =
      LoadCredentials(TokenPath(run_dir), is_insecure ? "" : own, is_insecure);
  if (credentials.ok()) return std::make_shared<Credentials>(*credentials);
  if (!absl::IsNotFound(credentials.status()) || own.empty() ||
      !certificates.empty()) {
    return credentials.status();
  }
  return Annotate(credentials.status(),
                  "pass --certificates with those of this host");
}

}  // namespace gandem
