// SPDX-License-Identifier: Apache-2.0
//
// Computes SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits. Identifies
// networks and image sets to people.
//
// Owner: the function that hashes. Thread safety: one thread per object.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_md_ctx_st;  // libcrypto's

namespace gandem {

class Sha256 {
 public:
  Sha256();

  void Update(std::span<const std::byte> bytes);
  void Update(absl::string_view text);

  // Returns the digest of all bytes so far. No function may be called
  // afterwards.
  std::string Finish();

 private:
  std::shared_ptr<evp_md_ctx_st> context_;
};

// Hashes a whole file. Errors: those of file.h.
absl::StatusOr<std::string> Sha256OfFile(const std::string& path);

}  // namespace gandem
