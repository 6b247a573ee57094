// SPDX-License-Identifier: Apache-2.0
#include "common/security/token.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/random_text.h"
#include "common/security/private_file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr int64_t kMaxTokenFile = 4096;

bool LooksLikeToken(absl::string_view text) {
  return text.size() == 2 * kTokenBytes &&
         std::all_of(text.begin(), text.end(), [](char digit) {
           return absl::ascii_isdigit(static_cast<unsigned char>(digit)) ||
                  (digit >= 'a' && digit <= 'f');
         });
}

}  // namespace

std::string TokenPath(const std::string& run_dir) {
  return run_dir + "/state/token";
}

std::string NewToken() { return RandomText(kTokenBytes); }

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadPrivateFile(path, kMaxTokenFile));
  const absl::string_view token = absl::StripSuffix(text, "\n");
  if (LooksLikeToken(token)) return std::string(token);
  return absl::DataLossError(absl::StrCat(
      "'", path, "' holds no token of a run (", 2 * kTokenBytes,
      " hexadecimal digits): remove it while the run is stopped, and the next "
      "`gandem train` makes a new one"));
}

absl::StatusOr<std::string> ReadOrCreateToken(const std::string& path) {
  absl::StatusOr<std::string> token = ReadToken(path);
  if (!absl::IsNotFound(token.status())) return token;
  const absl::Status created =
      CreatePrivateFile(path, absl::StrCat(NewToken(), "\n"));
  if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
  return ReadToken(path);
}

bool IsToken(absl::string_view token, absl::string_view given) {
  return !token.empty() && token.size() == given.size() &&
         CRYPTO_memcmp(token.data(), given.data(), token.size()) == 0;
}

}  // namespace gandem
