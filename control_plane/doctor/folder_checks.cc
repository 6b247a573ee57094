// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/folder_checks.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/quantities.h"
#include "common/random_text.h"
#include "common/security/certificates.h"
#include "common/security/credentials.h"
#include "common/status.h"

namespace gandem {
namespace {

// Writes like a checkpoint: syncs a file and its folder, then renames the
// folder.
absl::Status TryToCommit(const std::string& run_dir) {
  const std::string name = "/state/doctor-" + RandomText(8);
  const std::string pending = run_dir + name + ".tmp";
  const std::string text = RandomText(32);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(pending));
  absl::Status done = WriteFileDurably(pending + "/file", text);
  if (done.ok()) done = RenameDurably(pending, run_dir + name);
  if (done.ok()) {
    const auto read = ReadFile(run_dir + name + "/file", 1 << 10);
    done = !read.ok() ? read.status()
           : *read != text
               ? absl::DataLossError(absl::StrCat(
                     "'", run_dir, name, "/file' is not what was written"))
               : absl::OkStatus();
  }
  RemoveAll(pending).IgnoreError();
  RemoveAll(run_dir + name).IgnoreError();
  return done;
}

}  // namespace

Finding CheckRunFolder(const std::string& run_dir) {
  const absl::Status done = TryToCommit(run_dir);
  if (done.ok()) {
    return Fine(kRunFolderCheck,
                run_dir + ": files are written, synced and renamed");
  }
  return Fault(kRunFolderCheck, std::string(done.message()),
               "checkpoints need a folder that this user may write, on a file "
               "system with rename and fsync");
}

int64_t CheckpointBytes(const std::string& run_dir) {
  const auto steps = ListCheckpoints(run_dir);
  if (!steps.ok() || steps->empty()) return 0;
  const auto manifest = ReadManifest(CheckpointPath(run_dir, steps->front()));
  int64_t bytes = 0;
  if (!manifest.ok()) return bytes;
  for (const CheckpointFile& file : manifest->files()) bytes += file.size();
  return bytes;
}

Finding CheckDisk(const RunConfig& config, int64_t checkpoint_bytes,
                  int64_t free_bytes) {
  const std::string free = BytesText(free_bytes) + " are free";
  if (checkpoint_bytes == 0) {
    return Fine("disk", free +
                            "; run this again after the first checkpoint, "
                            "which shows how much one takes");
  }
  const CheckpointConfig& kept = config.checkpoint();
  int64_t count = kept.keep_last() + 1;
  if (kept.keep_every() > 0) count += config.rounds() / kept.keep_every();
  const int64_t needed = count * checkpoint_bytes;
  const std::string text =
      absl::StrCat(free, ", ", count, " checkpoints take ", BytesText(needed));
  if (needed <= free_bytes) return Fine("disk", text);
  return Fault("disk", text,
               "make room, or keep fewer checkpoints (checkpoint.keep_last, "
               "keep_every)");
}

Finding CheckSecrets(const std::string& token_file,
                     const std::string& certificates) {
  if (!PathExists(token_file) && certificates.empty()) {
    return Fine("secrets", "gandem train will make " + token_file);
  }
  const absl::Status loaded =
      certificates.empty() ? LoadCredentials(token_file, /*certificates=*/"",
                                             /*insecure_network=*/false)
                                 .status()
                           : Certificates::Load(certificates).status();
  if (loaded.ok()) {
    return Fine("secrets",
                certificates.empty()
                    ? "token and certificates in " + ParentOf(token_file) +
                          " are private"
                    : "the certificates in " + certificates + " can be used");
  }
  return Fault("secrets", std::string(loaded.message()),
               "docs/security.md says what these files hold; gandem train "
               "makes those of a run again that were removed");
}

}  // namespace gandem
