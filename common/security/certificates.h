// SPDX-License-Identifier: Apache-2.0
//
// The certificate that this process shows on addresses that other hosts reach,
// and the check of the one that a peer shows: signed by the authority of the
// run, in time, not revoked, and for the host that was asked for.
//
// A folder holds ca.crt, NAME.crt, NAME.key, and `revoked` if something is: a
// serial number a line. That list is read for every connection, so that a line
// in it counts at once; the rest is read at the start.
//
// Owner: the process. Thread safety: any thread; it never changes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/security/x509.h"

namespace gandem {

class Certificates {
 public:
  // `path` is the folder, or FOLDER/NAME where it holds several.
  //   NOT_FOUND            a file is missing, or the folder is.
  //   INVALID_ARGUMENT     a file is not what its name says, a key is another
  //                        certificate's, or NAME is needed.
  //   FAILED_PRECONDITION  others can read the key; or the certificate is of
  //                        another authority, not yet or no longer valid, or
  //                        revoked.
  // Each names the file and says what to do.
  static absl::StatusOr<std::shared_ptr<const Certificates>> Load(
      const std::string& path);

  const std::string& authority_pem() const { return authority_pem_; }
  const std::string& certificate_pem() const { return certificate_pem_; }
  const std::string& key_pem() const { return key_pem_; }
  // FOLDER/NAME, as Load takes it.
  const std::string& path() const { return path_; }

  // Whether this process may serve at `host`.
  //   FAILED_PRECONDITION  its certificate is for other hosts.
  absl::Status CheckServes(const std::string& host) const;

  // Of a client: any certificate of the run; of a server: one for `host`.
  // Empty: the peer has shown none.
  //   UNAUTHENTICATED  why it is refused, in one line.
  absl::Status CheckClient(absl::string_view certificate_pem,
                           absl::Time now) const;
  absl::Status CheckServer(absl::string_view certificate_pem,
                           const std::string& host, absl::Time now) const;

 private:
  Certificates(std::string folder, std::string name);
  std::string File(absl::string_view ending) const;
  absl::Status ReadFiles();
  absl::Status CheckOwn() const;
  // Signature, time and revocation; empty: it is good.
  std::string WhyNotGood(X509* certificate, int purpose, absl::Time now) const;
  std::string WhyRevoked(X509* certificate) const;
  absl::Status CheckPeer(absl::string_view certificate_pem, int purpose,
                         const std::string& host, absl::Time now) const;

  const std::string folder_;
  const std::string path_;
  std::string authority_pem_;
  std::string certificate_pem_;
  std::string key_pem_;
  X509Ptr authority_;
  X509Ptr certificate_;
};

bool IsIpAddress(const std::string& host);

// The list of revoked certificates in a folder.
std::string RevokedPath(const std::string& folder);

// "alpha, 10.0.0.1": the hosts that a certificate is for.
std::string HostsOf(X509* certificate);

}  // namespace gandem
