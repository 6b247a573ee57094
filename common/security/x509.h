// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL's certificates and keys as C++ objects and Status.
//
// Thread safety: pure functions.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gandem {

struct X509Deleter {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using X509Ptr = std::unique_ptr<X509, X509Deleter>;
using KeyPtr = std::unique_ptr<EVP_PKEY, X509Deleter>;

//   INVALID_ARGUMENT  not a certificate or key, or a key with a password; the
//                     message contains `name`
absl::StatusOr<X509Ptr> ParseCertificate(absl::string_view pem,
                                         absl::string_view name);
absl::StatusOr<KeyPtr> ParseKey(absl::string_view pem, absl::string_view name);

std::string ToPem(X509* certificate);
std::string ToPem(EVP_PKEY* key);

// Returns the hosts, "DNS:alpha, IP Address:10.0.0.1"; or "no host".
std::string HostsOf(X509* certificate);
absl::Time NotBefore(X509* certificate);
absl::Time NotAfter(X509* certificate);

// Returns OpenSSL's description of the last failure in this thread.
std::string OpensslError();

}  // namespace gandem
