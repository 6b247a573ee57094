// SPDX-License-Identifier: Apache-2.0
#include "common/security/credentials.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/files/file.h"
#include "common/security/certificate_authority.h"
#include "common/security/private_file.h"
#include "common/security/token.h"
#include "common/status.h"

namespace gandem {
namespace {

struct TheCredentials {
  absl::Mutex mu;
  std::shared_ptr<const Credentials> value ABSL_GUARDED_BY(mu);
};

TheCredentials& Holder() {
  static TheCredentials* const holder = new TheCredentials;  // never destroyed
  return *holder;
}

}  // namespace

std::string RunCertificatesPath(const std::string& token_file) {
  return ParentOf(token_file) + "/certificates.pem";
}

absl::Status EnsureRunSecrets(const std::string& run_dir) {
  const std::string token = TokenPath(run_dir);
  const std::string certificates = RunCertificatesPath(token);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(ParentOf(token)));
  if (!PathExists(certificates)) {
    GANDEM_ASSIGN_OR_RETURN(const std::string text,
                            NewRunCertificates(absl::Now()));
    const absl::Status created = CreatePrivateFile(certificates, text);
    if (!absl::IsAlreadyExists(created)) GANDEM_RETURN_IF_ERROR(created);
  }
  return ReadOrCreateToken(token).status();
}

absl::StatusOr<Credentials> LoadCredentials(const std::string& token_file,
                                            const std::string& certificates,
                                            bool insecure_network) {
  Credentials credentials = {.token_file = token_file,
                             .insecure_network = insecure_network};
  GANDEM_ASSIGN_OR_RETURN(credentials.token, ReadToken(token_file));
  if (!certificates.empty()) {
    GANDEM_ASSIGN_OR_RETURN(credentials.certificates,
                            Certificates::Load(certificates));
  } else if (!insecure_network) {
    auto of_run = Certificates::LoadOfRun(RunCertificatesPath(token_file));
    if (absl::IsNotFound(of_run.status())) return credentials;
    GANDEM_ASSIGN_OR_RETURN(credentials.certificates, std::move(of_run));
  }
  return credentials;
}

std::string WhyUnencrypted(const Credentials& credentials) {
  return absl::StrCat(
      "other hosts are at its other end, and there are no certificates to "
      "encrypt the connection with: '",
      RunCertificatesPath(credentials.token_file),
      "' is missing. Name the run folder as this host sees it (--run_dir, or "
      "--token_file RUN_DIR/state/token), give your own --certificates, or "
      "pass --insecure_network in a network that you trust");
}

std::string FindTokenFile(const std::string& token_file,
                          const std::string& run_dir,
                          const std::string& control_address) {
  if (!token_file.empty()) return token_file;
  if (!run_dir.empty()) return TokenPath(run_dir);
  // Folder of the socket of `gandem train --external`.
  absl::string_view folder = control_address;
  if (!absl::ConsumePrefix(&folder, "unix:") ||
      !absl::ConsumeSuffix(&folder, "/state/control.sock")) {
    return "";
  }
  return TokenPath(std::string(folder));
}

void SetProcessCredentials(Credentials credentials) {
  TheCredentials& holder = Holder();
  absl::MutexLock lock(&holder.mu);
  holder.value = std::make_shared<const Credentials>(std::move(credentials));
}

std::shared_ptr<const Credentials> ProcessCredentials() {
  TheCredentials& holder = Holder();
  absl::MutexLock lock(&holder.mu);
  return holder.value;
}

}  // namespace gandem
