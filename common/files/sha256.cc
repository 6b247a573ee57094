// SPDX-License-Identifier: Apache-2.0
#include "common/files/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

EVP_MD_CTX* Get(const std::shared_ptr<void>& context) {
  return static_cast<EVP_MD_CTX*>(context.get());
}

}  // namespace

Sha256::Sha256()
    : context_(EVP_MD_CTX_new(), [](void* context) {
        EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context));
      }) {
  // Both fail only without memory.
  GANDEM_CHECK(context_ != nullptr);
  GANDEM_CHECK(EVP_DigestInit_ex(Get(context_), EVP_sha256(), nullptr) == 1);
}

void Sha256::Update(std::span<const std::byte> bytes) {
  GANDEM_CHECK(EVP_DigestUpdate(Get(context_), bytes.data(), bytes.size()) ==
               1);
}

void Sha256::Update(absl::string_view text) {
  Update(std::as_bytes(std::span(text.data(), text.size())));
}

std::string Sha256::Finish() {
  std::array<unsigned char, 32> digest;
  unsigned int size = 0;
  GANDEM_CHECK(EVP_DigestFinal_ex(Get(context_), digest.data(), &size) == 1);
  GANDEM_CHECK(size == digest.size());
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(digest.data()), digest.size()});
}

absl::StatusOr<std::string> Sha256OfFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "cannot open", path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  constexpr int64_t kPieceBytes = int64_t{1} << 20;
  Sha256 hash;
  for (int64_t offset = 0;; offset += kPieceBytes) {
    GANDEM_ASSIGN_OR_RETURN(const std::string piece,
                            ReadAt(fd, path, offset, kPieceBytes));
    hash.Update(piece);
    if (std::ssize(piece) < kPieceBytes) return hash.Finish();
  }
}

}  // namespace gandem
