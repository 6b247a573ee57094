// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/folder_proof.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/random_text.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr char kProofFolder[] = "state";
constexpr char kProofPrefix[] = "folder-";
constexpr int64_t kMaxProofBytes = 1024;
constexpr size_t kRandomBytes = 16;

bool IsFolderIn(int fd, const std::string& name) {
  struct stat found = {};
  return fstatat(fd, name.c_str(), &found, 0) == 0 && S_ISDIR(found.st_mode);
}

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

absl::Status CreateInRunFolder(const std::string& run_dir,
                               const std::string& name) {
  const auto away = [&run_dir] {
    return absl::UnavailableError(
        absl::StrCat("the run folder '", run_dir,
                     "' is not there; is its file system still mounted?"));
  };
  const int fd = OpenFile(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return away();
  if (fd < 0) return FileError(errno, "cannot open folder", run_dir);
  const absl::Cleanup close_folder = [fd] { close(fd); };
  if (!IsFolderIn(fd, kProofFolder)) return away();
  std::string folder;
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    absl::StrAppend(&folder, folder.empty() ? "" : "/", part);
    if (mkdirat(fd, folder.c_str(), 0777) == 0) continue;
    const int error = errno;  // NFS may have another one than EEXIST
    if (IsFolderIn(fd, folder)) continue;
    return FileError(error == EEXIST ? ENOTDIR : error, "cannot create folder",
                     absl::StrCat(run_dir, "/", folder));
  }
  return absl::OkStatus();
}

}  // namespace gandem
