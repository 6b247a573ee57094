// SPDX-License-Identifier: Apache-2.0
//
// Credentials that a process shows to servers and demands from clients. A
// process belongs to one run, so it has one set, which main sets before it
// connects or listens (common/rpc/channel.h).
//
// A run has two secrets in RUN_DIR/state, files with mode 0600: `token`, sent
// with every call, and `certificates.pem`, for connections between hosts.
//
// Owner: the process. Thread safety: any thread; immutable once set.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/security/certificates.h"

namespace gandem {

struct Credentials {
  std::string token = {};       // required; see token.h
  std::string token_file = {};  // source of the token, for messages
  // For addresses reachable from other hosts; null: none.
  std::shared_ptr<const Certificates> certificates = nullptr;
  // The user trusts the network: no certificates needed.
  bool insecure_network = false;
};

// Help texts of --certificates and --insecure_network in all programs.
inline constexpr char kCertificatesHelp[] =
    "Your own certificates in place of the run's: FOLDER/NAME of a folder "
    "with ca.crt, NAME.crt and NAME.key";
inline constexpr char kInsecureNetworkHelp[] =
    "Do not encrypt connections between hosts: whoever listens in can read "
    "and change what they carry, take the token and join the run";

// The certificates are beside the token.
std::string RunCertificatesPath(const std::string& token_file);

// Creates missing certificates and, last, the token. Replaces neither.
absl::Status EnsureRunSecrets(const std::string& run_dir);

// Reads the token and the certificates: `certificates` as for
// Certificates::Load, or if that is empty and the network is not trusted, those
// of the run. Without certificates only addresses of this host work. Errors:
// those of ReadToken and Certificates::Load.
absl::StatusOr<Credentials> LoadCredentials(const std::string& token_file,
                                            const std::string& certificates,
                                            bool insecure_network);

// Returns why `credentials` do not encrypt connections between hosts, and what
// to do. The caller's message begins with the refused item.
std::string WhyUnencrypted(const Credentials& credentials);

// Returns the token file of a manually started worker: --token_file, or in its
// --run_dir, or beside the socket that it connects to; empty: unknown.
std::string FindTokenFile(const std::string& token_file,
                          const std::string& run_dir,
                          const std::string& control_address);

void SetProcessCredentials(Credentials credentials);
// Null until set.
std::shared_ptr<const Credentials> ProcessCredentials();

}  // namespace gandem
