// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_credentials.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/security/private_file.h"
#include "common/security/token.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kMaxPathBytes = 8192;

// In place of the certificates' path where there are none. No path is relative.
constexpr char kInsecure[] = "insecure_network";

// The file that names what the running `gandem train` uses in place of its own
// certificates: the path of others, or kInsecure. Absent: nothing.
std::string NotePath(const std::string& run_dir) {
  return run_dir + "/state/control.certificates";
}

absl::Status WriteNote(const std::string& run_dir,
                       const Credentials& credentials) {
  const Certificates* const own = credentials.certificates.get();
  if (own != nullptr && own->are_of_run()) return RemoveAll(NotePath(run_dir));
  return WriteFileDurably(
      NotePath(run_dir),
      absl::StrCat(own == nullptr ? kInsecure : AbsoluteName(own->path()),
                   "\n"));
}

// Whether there was none.
absl::StatusOr<bool> MendSecret(const std::string& path,
                                absl::string_view text) {
  if (PathExists(path)) return false;
  GANDEM_RETURN_IF_ERROR(CreateDirectories(ParentOf(path)));
  GANDEM_RETURN_IF_ERROR(CreatePrivateFile(path, text));
  return true;
}

}  // namespace

absl::Status TakeRunCredentials(const std::string& run_dir,
                                const std::string& certificates,
                                bool insecure_network) {
  GANDEM_RETURN_IF_ERROR(EnsureRunSecrets(run_dir));
  GANDEM_ASSIGN_OR_RETURN(
      Credentials credentials,
      LoadCredentials(TokenPath(run_dir), certificates, insecure_network));
  GANDEM_RETURN_IF_ERROR(WriteNote(run_dir, credentials));
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

absl::StatusOr<bool> MendSecrets(const std::string& run_dir) {
  const auto credentials = ProcessCredentials();
  const Certificates* const own = credentials->certificates.get();
  const std::string token = TokenPath(run_dir);
  bool mended = false;
  if (own != nullptr && own->are_of_run()) {
    GANDEM_ASSIGN_OR_RETURN(
        mended, MendSecret(RunCertificatesPath(token), own->Text()));
  }
  GANDEM_ASSIGN_OR_RETURN(
      const bool has_token_mended,
      MendSecret(token, absl::StrCat(credentials->token, "\n")));
  if (has_token_mended) {
    GANDEM_RETURN_IF_ERROR(WriteNote(run_dir, *credentials));
  }
  return mended || has_token_mended;
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
