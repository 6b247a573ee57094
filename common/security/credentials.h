// SPDX-License-Identifier: Apache-2.0
//
// What a process shows to those that it connects to, and demands of those that
// connect to it. A process belongs to one run, so it has them once, like its
// log: main sets them before it connects or listens, and no service can forget
// them (common/rpc/channel.h).
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

// Reads both; `certificates` is as Certificates::Load takes it, or empty.
// Errors: those of ReadToken and Certificates::Load.
absl::StatusOr<Credentials> LoadCredentials(const std::string& token_file,
                                            const std::string& certificates,
                                            bool insecure_network);

// Where the token of a worker is that was started by hand: --token_file, else
// in its --run_dir, else beside the socket that it is to connect to; empty: it
// cannot be known.
std::string FindTokenFile(const std::string& token_file,
                          const std::string& run_dir,
                          const std::string& control_address);

void SetProcessCredentials(Credentials credentials);
// Null before they are set.
std::shared_ptr<const Credentials> ProcessCredentials();

}  // namespace gandem
