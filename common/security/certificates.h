// SPDX-License-Identifier: Apache-2.0
//
// Certificate that this process shows on addresses reachable from other hosts,
// and the authority that must have signed the certificates of its peers. gRPC
// checks the peers (common/rpc/guarded_calls.h). The certificates are the run's
// own, valid for any host, or the user's, valid for the hosts named in them.
//
// Owner: the process. Thread safety: any thread; immutable.
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
  // Loads the user's certificates from files that never change while the
  // process runs. `path` is FOLDER/NAME, where FOLDER contains ca.crt, NAME.crt
  // and NAME.key. Errors name the file and say what to do:
  //   NOT_FOUND            a file is missing
  //   INVALID_ARGUMENT     a file is not what its name says, or a key does not
  //                        match the certificate
  //   FAILED_PRECONDITION  others can read the key, or the certificate is from
  //                        another authority, not yet valid or expired
  static absl::StatusOr<std::shared_ptr<const Certificates>> Load(
      const std::string& path);

  // Loads the run's certificates from one file with the text of
  // NewRunCertificates(). Errors: those of Load.
  static absl::StatusOr<std::shared_ptr<const Certificates>> LoadOfRun(
      const std::string& path);

  std::string Text() const {
    return absl::StrCat(certificate_pem_, key_pem_, authority_pem_);
  }
  const std::string& authority_pem() const { return authority_pem_; }
  const std::string& certificate_pem() const { return certificate_pem_; }
  const std::string& key_pem() const { return key_pem_; }
  // FOLDER/NAME as for Load, or the file of the run.
  const std::string& path() const { return path_; }
  bool are_of_run() const { return are_of_run_; }

  // Checks that this process may serve at `host`.
  //   FAILED_PRECONDITION  its certificate is for other hosts
  absl::Status CheckServes(const std::string& host) const;

 private:
  // PEM text and its name in messages.
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
