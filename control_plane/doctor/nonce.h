// SPDX-License-Identifier: Apache-2.0
//
// Proof that two hosts see one run folder: one writes a text that nobody can
// guess under a name that nobody has used, the other one tells it.
//
// Owner: `gandem doctor`. Thread safety: any thread.
// Errors: those of common/files/file.h.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

struct Nonce {
  std::string file;  // in run_dir/state
  std::string text;
};

// The caller removes it.
absl::StatusOr<Nonce> WriteNonce(const std::string& run_dir);
absl::Status RemoveNonce(const std::string& run_dir, const Nonce& nonce);

// `file` was sent by another process.
//   INVALID_ARGUMENT  it is no name of a nonce.
//   NOT_FOUND         this host does not see it.
absl::StatusOr<std::string> ReadNonce(const std::string& run_dir,
                                      const std::string& file);

}  // namespace gandem
