// SPDX-License-Identifier: Apache-2.0
//
// What both ends of a TLS connection set: the certificate that they show, and a
// check of the peer's in place of gRPC's, which can say, log and count why one
// is refused. OpenSSL proves that the peer holds the key of what it shows.
//
// Owner: server_guard.cc and channel_guard.cc. Thread safety: any thread.
#pragma once

#include <grpcpp/security/tls_credentials_options.h>

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/security/certificates.h"

namespace gandem {

// gRPC's threads call it at the end of every handshake, with the certificate
// that the peer has shown, in PEM; empty: none. Its error is told to gRPC.
using PeerCheck = std::function<absl::Status(absl::string_view)>;

void UseCertificates(const Certificates& certificates, PeerCheck check,
                     grpc::experimental::TlsCredentialsOptions& options);

}  // namespace gandem
