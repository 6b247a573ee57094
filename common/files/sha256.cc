// SPDX-License-Identifier: Apache-2.0
#include "common/files/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "absl/strings/escaping.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  // These calls fail only if memory runs out.
  GANDEM_CHECK(context_ != nullptr);
  GANDEM_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::Update(std::span<const std::byte> bytes) {
  GANDEM_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) ==
               1);
}

void Sha256::Update(absl::string_view text) {
  Update(std::as_bytes(std::span(text.data(), text.size())));
}

std::string Sha256::Finish() {
  std::array<unsigned char, 32> digest;
  unsigned int size = 0;
  GANDEM_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
  GANDEM_CHECK(size == digest.size());
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(digest.data()), digest.size()});
}

absl::StatusOr<std::string> Sha256OfFile(const std::string& path) {
  Sha256 hash;
  GANDEM_RETURN_IF_ERROR(ReadPieces(
      path, [&hash](std::span<const std::byte> piece) { hash.Update(piece); }));
  return hash.Finish();
}

}  // namespace gandem
