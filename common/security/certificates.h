// SPDX-License-Identifier: Apache-2.0
//
// The certificate that this process shows on addresses that other hosts reach,
// and the authority that has to have signed the certificate of each peer. gRPC
// checks peers (common/rpc/guarded_calls.h). Certificates are those that gandem
// has made for the run, which serve at any host, or the user's own, which serve
// at the hosts that they name.
//
// Owner: the process. Thread safety: any thread; it never changes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/security/x509.h"

namespace gandem {

class Certificates {
 public:
  // The user's certificates, in files that never change while the process runs.
  // `path` is FOLDER/NAME, where FOLDER holds ca.crt, NAME.crt and NAME.key.
  //   NOT_FOUND            a file is missing.
  //   INVALID_ARGUMENT     a file is not what its name says, or a key is
  //                        another certificate's.
  //   FAILED_PRECONDITION  others can read the key; or the certificate is of
  //                        another authority, not yet or no longer valid.
  // Each names the file and says what to do.
  static absl::StatusOr<std::shared_ptr<const Certificates>> Load(
      const std::string& path);

  // The run's certificates, in one file with the text of NewRunCertificates().
  // Errors: as above.
  static absl::StatusOr<std::shared_ptr<const Certificates>> LoadOfRun(
      const std::string& path);

  // The text that LoadOfRun reads.
  std::string Text() const {
    return absl::StrCat(certificate_pem_, key_pem_, authority_pem_);
  }
  const std::string& authority_pem() const { return authority_pem_; }
  const std::string& certificate_pem() const { return certificate_pem_; }
  const std::string& key_pem() const { return key_pem_; }
  // FOLDER/NAME, as Load takes it, or the file of the run.
  const std::string& path() const { return path_; }
  bool are_of_run() const { return are_of_run_; }

  // Whether this process may serve at `host`.
  //   FAILED_PRECONDITION  its certificate is for other hosts.
  absl::Status CheckServes(const std::string& host) const;

 private:
  // A text that holds PEM, and what messages call it.
  struct Source {
    std::string text;
    std::string name;
  };
  Certificates(std::string path, bool are_of_run);
  static absl::StatusOr<std::shared_ptr<const Certificates>> Parse(
      std::string path, bool are_of_run, const Source& authority,
      const Source& certificate, const Source& key);

  const std::string path_;
  const bool are_of_run_;
  std::string authority_pem_;
  std::string certificate_pem_;
  std::string key_pem_;
  X509Ptr certificate_;
};

}  // namespace gandem
