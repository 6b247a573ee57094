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

// Where the certificates of the running `gandem train` are; absent: it has
// none.
std::string NotePath(const std::string& run_dir) {
  return run_dir + "/state/control.certificates";
}

absl::Status NoteCertificates(const std::string& run_dir,
                              const Certificates* certificates) {
  if (certificates == nullptr) return RemoveAll(NotePath(run_dir));
  return WriteFileDurably(NotePath(run_dir),
                          AbsoluteName(certificates->path()) + "\n");
}

}  // namespace

absl::Status TakeRunCredentials(const std::string& run_dir,
                                const std::string& certificates,
                                bool insecure_network) {
  GANDEM_RETURN_IF_ERROR(ReadOrCreateToken(TokenPath(run_dir)));
  GANDEM_ASSIGN_OR_RETURN(
      Credentials credentials,
      LoadCredentials(TokenPath(run_dir), certificates, insecure_network));
  GANDEM_RETURN_IF_ERROR(
      NoteCertificates(run_dir, credentials.certificates.get()));
  SetProcessCredentials(std::move(credentials));
  return absl::OkStatus();
}

std::vector<std::string> CredentialFlags() {
  const auto credentials = ProcessCredentials();
  std::vector<std::string> flags = {"--token_file", credentials->token_file};
  if (credentials->certificates != nullptr) {
    flags.insert(
        flags.end(),
        {"--certificates", AbsoluteName(credentials->certificates->path())});
  } else if (credentials->insecure_network) {
    flags.emplace_back("--insecure_network");
  }
  return flags;
}

absl::StatusOr<bool> MendToken(const std::string& run_dir) {
  if (PathExists(TokenPath(run_dir))) return false;
  const auto credentials = ProcessCredentials();
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/state"));
  GANDEM_RETURN_IF_ERROR(
      NoteCertificates(run_dir, credentials->certificates.get()));
  GANDEM_RETURN_IF_ERROR(RestoreToken(TokenPath(run_dir), credentials->token));
  return true;
}

absl::StatusOr<std::shared_ptr<const Credentials>> CredentialsOfRun(
    const std::string& run_dir, const std::string& certificates) {
  std::string path = certificates;
  if (path.empty()) {
    const auto note = ReadFile(NotePath(run_dir), kMaxPathBytes);
    if (note.ok()) path = std::string(absl::StripAsciiWhitespace(*note));
  }
  // Without certificates, `gandem train` trusts the network that it listens on.
  absl::StatusOr<Credentials> credentials = LoadCredentials(
      TokenPath(run_dir), path, /*insecure_network=*/path.empty());
  if (credentials.ok()) {
    return std::make_shared<const Credentials>(*std::move(credentials));
  }
  if (!absl::IsNotFound(credentials.status()) || path.empty() ||
      !certificates.empty()) {
    return credentials.status();
  }
  return Annotate(credentials.status(),
                  "pass --certificates with those of this host");
}

}  // namespace gandem
