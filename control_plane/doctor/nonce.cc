// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/nonce.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/random_text.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::string_view kPrefix = "doctor-";
constexpr size_t kNameBytes = 8;
constexpr int64_t kMaxText = 1 << 10;

std::string PathOf(const std::string& run_dir, const std::string& file) {
  return absl::StrCat(run_dir, "/state/", file);
}

bool IsNonceName(absl::string_view file) {
  return absl::ConsumePrefix(&file, kPrefix) && file.size() == 2 * kNameBytes &&
         std::all_of(file.begin(), file.end(), absl::ascii_isxdigit);
}

}  // namespace

absl::StatusOr<Nonce> WriteNonce(const std::string& run_dir) {
  Nonce nonce = {.file = absl::StrCat(kPrefix, RandomText(kNameBytes)),
                 .text = RandomText(32)};
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/state"));
  GANDEM_RETURN_IF_ERROR(
      WriteFileDurably(PathOf(run_dir, nonce.file), nonce.text));
  return nonce;
}

absl::Status RemoveNonce(const std::string& run_dir, const Nonce& nonce) {
  return RemoveAll(PathOf(run_dir, nonce.file));
}

absl::StatusOr<std::string> ReadNonce(const std::string& run_dir,
                                      const std::string& file) {
  if (!IsNonceName(file)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "nonce_file '", Printable(file, 100), "' is no name of a nonce"));
  }
  return ReadFile(PathOf(run_dir, file), kMaxText);
}

}  // namespace gandem
