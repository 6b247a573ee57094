// SPDX-License-Identifier: Apache-2.0
//
// The credentials of a run: the secrets in RUN_DIR/state, and what `gandem
// train` was told to use in place of the run's certificates, which it notes in
// the run folder for `gandem status`.
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

// Makes the secrets that the run does not have yet, and sets the credentials of
// this process. `certificates` is as Certificates::Load takes it; empty: those
// of the run.
absl::Status TakeRunCredentials(const std::string& run_dir,
                                const std::string& certificates,
                                bool insecure_network);

// What a worker of this `gandem train` gets to see them: arguments of it.
std::vector<std::string> CredentialFlags();

// Those of a run that a `gandem train` works on. Empty `certificates`: those
// that it was given.
absl::StatusOr<std::shared_ptr<const Credentials>> CredentialsOfRun(
    const std::string& run_dir, const std::string& certificates);

}  // namespace gandem
