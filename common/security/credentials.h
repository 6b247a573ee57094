// SPDX-License-Identifier: Apache-2.0
//
// Credentials that a process shows to its servers and demands of its clients. A
// process belongs to one run, so it has one set, like its log. main sets them
// before it connects or listens, and no service can forget them
// (common/rpc/channel.h).
//
// A run has two secrets in RUN_DIR/state, files with mode 0600: `token`, which
// every call sends, and `certificates.pem`, for connections between hosts.
//
// Owner: the process. Thread safety: any thread; they never change once set.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/security/certificates.h"

namespace gandem {

struct Credentials {
  std::string token = {};       // required; see token.h
  std::string token_file = {};  // where it is from, for messages
  // For addresses that other hosts reach; null: none.
  std::shared_ptr<const Certificates> certificates = nullptr;
  // Without certificates: the network can be trusted.
  bool insecure_network = false;
};

// Help texts of --certificates and --insecure_network, for every program that
// has these flags.
inline constexpr char kCertificatesHelp[] =
    "Your own certificates in place of the run's: FOLDER/NAME of a folder "
    "with ca.crt, NAME.crt and NAME.key";
inline constexpr char kInsecureNetworkHelp[] =
    "Do not encrypt connections between hosts: whoever listens in can read "
    "and change what they carry, take the token and join the run";

// The certificates of a run are beside its token.
std::string RunCertificatesPath(const std::string& token_file);

// Makes the token and the certificates of a run where there are none, the token
// last. Neither is ever replaced.
absl::Status EnsureRunSecrets(const std::string& run_dir);

// Reads the token and the certificates: those that `certificates` names, as
// Certificates::Load takes it; where that is empty and the network is not
// trusted, those of the run. Without any, only addresses of this host work.
// Errors: those of ReadToken and Certificates::Load.
absl::StatusOr<Credentials> LoadCredentials(const std::string& token_file,
                                            const std::string& certificates,
                                            bool insecure_network);

// Why `credentials` do not encrypt connections between hosts, and what to do,
// for a message that begins with what is refused.
std::string WhyUnencrypted(const Credentials& credentials);

// Token file of a worker that was started by hand: --token_file, otherwise in
// its --run_dir, otherwise beside the socket that it connects to; empty:
// unknown.
std::string FindTokenFile(const std::string& token_file,
                          const std::string& run_dir,
                          const std::string& control_address);

void SetProcessCredentials(Credentials credentials);
// Null before they are set.
std::shared_ptr<const Credentials> ProcessCredentials();

}  // namespace gandem
