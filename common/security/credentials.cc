// SPDX-License-Identifier: Apache-2.0
#include "common/security/credentials.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "common/security/token.h"
#include "common/status.h"

namespace gandem {
namespace {

struct TheCredentials {
  absl::Mutex mu;
  std::shared_ptr<const Credentials> value ABSL_GUARDED_BY(mu);
};

TheCredentials& Holder() {
  static TheCredentials* const holder = new TheCredentials;  // for good
  return *holder;
}

}  // namespace

absl::StatusOr<Credentials> LoadCredentials(const std::string& token_file,
                                            const std::string& certificates,
                                            bool insecure_network) {
  Credentials credentials = {.token_file = token_file,
                             .insecure_network = insecure_network};
  GANDEM_ASSIGN_OR_RETURN(credentials.token, ReadToken(token_file));
  if (!certificates.empty()) {
    GANDEM_ASSIGN_OR_RETURN(credentials.certificates,
                            Certificates::Load(certificates));
  }
  return credentials;
}

std::string FindTokenFile(const std::string& token_file,
                          const std::string& run_dir,
                          const std::string& control_address) {
  if (!token_file.empty()) return token_file;
  if (!run_dir.empty()) return TokenPath(run_dir);
  // Of `gandem train --external`.
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
