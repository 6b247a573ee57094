// SPDX-License-Identifier: Apache-2.0
//
// `gandem certificates`: makes or revokes the certificates that hosts show each
// other (common/security/certificate_authority.h), and says what to copy where.
//
// Thread safety: one thread.
#pragma once

#include <ostream>

#include "absl/status/status.h"
#include "control_plane/command_line/command_line.h"

namespace gandem {

// Errors: those of certificate_authority.h.
absl::Status RunCertificates(const CertificatesOptions& options,
                             std::ostream& out);

}  // namespace gandem
