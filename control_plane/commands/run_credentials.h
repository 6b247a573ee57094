// SPDX-License-Identifier: Apache-2.0
//
// Credentials of a run: the secrets in RUN_DIR/state, or the certificates given
// to `gandem train`, whose path the run folder keeps for `gandem status`.
//
// Owner: `gandem train`; `gandem status` reads. Thread safety: one thread.
// Errors: those of ReadToken, Certificates::Load and of files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/security/credentials.h"

namespace gandem {

// Creates missing secrets of the run and sets the credentials of this process.
// `certificates` (see Certificates::Load): empty selects the run's own.
absl::Status TakeRunCredentials(const std::string& run_dir,
                                const std::string& certificates,
                                bool insecure_network);

// Returns the flags that give a worker of this `gandem train` its credentials.
std::vector<std::string> CredentialFlags();

// Loads credentials for calls to the running `gandem train` of a run folder.
// Empty `certificates` selects those given to `gandem train`.
absl::StatusOr<std::shared_ptr<const Credentials>> CredentialsOfRun(
    const std::string& run_dir, const std::string& certificates);

}  // namespace gandem
