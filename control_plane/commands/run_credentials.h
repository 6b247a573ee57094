// SPDX-License-Identifier: Apache-2.0
//
// The credentials of a run: the secrets in RUN_DIR/state, and the certificates
// that the user of `gandem train` chose instead, whose path it writes to the
// run folder for `gandem status`.
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

// Creates missing secrets of the run, and sets the credentials of this process.
// `certificates`: see Certificates::Load; empty: the run's own.
absl::Status TakeRunCredentials(const std::string& run_dir,
                                const std::string& certificates,
                                bool insecure_network);

// Arguments that tell a worker of this `gandem train` which credentials to use.
std::vector<std::string> CredentialFlags();

// Loads credentials to call the running `gandem train` of a run folder. Empty
// `certificates`: the ones that `gandem train` was given.
absl::StatusOr<std::shared_ptr<const Credentials>> CredentialsOfRun(
    const std::string& run_dir, const std::string& certificates);

}  // namespace gandem
