// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/folder_proof.h"

#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/random_text.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr char kProofFolder[] = "state";
constexpr char kProofPrefix[] = "folder-";
constexpr int64_t kMaxProofBytes = 1024;
constexpr size_t kRandomBytes = 16;

}  // namespace

absl::StatusOr<FolderProof> WriteFolderProof(const std::string& run_dir) {
  const std::string folder = absl::StrCat(run_dir, "/", kProofFolder);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(folder));
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, kProofPrefix)) continue;
    GANDEM_RETURN_IF_ERROR(RemoveAll(absl::StrCat(folder, "/", name)));
  }
  FolderProof proof = {.file = absl::StrCat(kProofFolder, "/", kProofPrefix,
                                            RandomText(kRandomBytes)),
                       .text = RandomText(kRandomBytes)};
  GANDEM_RETURN_IF_ERROR(
      WriteFileDurably(absl::StrCat(run_dir, "/", proof.file), proof.text));
  return proof;
}

absl::Status MendFolderProof(const std::string& run_dir,
                             const FolderProof& proof) {
  const std::string path = absl::StrCat(run_dir, "/", proof.file);
  if (PathExists(path)) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(CreateDirectories(ParentOf(path)));
  return WriteFileDurably(path, proof.text);
}

absl::StatusOr<std::string> ReadFolderProof(const std::string& run_dir,
                                            const std::string& file) {
  absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(run_dir, "/", file), kMaxProofBytes);
  if (text.ok()) return text;
  return absl::InvalidArgumentError(absl::StrCat(
      "the run folder of `gandem train` is not '", run_dir, "' on this host (",
      text.status().message(),
      "): share it between the hosts, or pass --run_dir with the name that it "
      "has here"));
}

}  // namespace gandem
