// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/folder_checks.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/quantities.h"
#include "common/random_text.h"
#include "common/security/certificates.h"
#include "common/security/credentials.h"
#include "common/security/token.h"
#include "common/security/x509.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::Duration kShortLife = absl::Hours(7 * 24);

// As a checkpoint comes to be: a file in a folder, both synced, and a rename.
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

Finding LifeOf(const std::string& path, absl::Time until, absl::Duration needed,
               absl::Time now) {
  const absl::Duration left = until - now;
  const std::string text = absl::StrCat(
      path, " is valid until ",
      absl::FormatTime("%Y-%m-%d %H:%M UTC", until, absl::UTCTimeZone()));
  const std::string advice = "renew it before the run starts";
  if (left < needed) {
    return Fault(
        "certificates",
        absl::StrCat(text, ", but the run takes ",
                     absl::FormatDuration(absl::Trunc(needed, absl::Hours(1)))),
        advice);
  }
  if (left < kShortLife) return Warning("certificates", text, advice);
  return Fine("certificates", text);
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

int64_t FreeDisk(const std::string& folder) {
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) return 0;
  return static_cast<int64_t>(disk.f_frsize) *
         static_cast<int64_t>(disk.f_bavail);
}

Finding CheckDisk(const RunConfig& config, const CheckpointSize& checkpoint,
                  int64_t free_bytes) {
  const std::string free = BytesText(free_bytes) + " are free";
  const std::string advice =
      "make room, or keep fewer checkpoints (checkpoint.keep_last, keep_every)";
  if (!checkpoint.bytes.ok()) {
    return Warning(
        "disk",
        absl::StrCat(free, "; what a checkpoint takes is not known: ",
                     checkpoint.bytes.status().message()),
        "the first one will tell");
  }
  const CheckpointConfig& kept = config.checkpoint();
  int64_t count = kept.keep_last() + 1;
  if (kept.keep_every() > 0) count += config.rounds() / kept.keep_every();
  const int64_t needed = count * *checkpoint.bytes;
  const std::string text =
      absl::StrCat(free, ", ", count,
                   checkpoint.is_predicted ? " checkpoints will take "
                                           : " checkpoints take ",
                   BytesText(needed));
  return needed > free_bytes ? Fault("disk", text, advice) : Fine("disk", text);
}

Finding CheckSecrets(const std::string& run_dir) {
  const std::string path = TokenPath(run_dir);
  if (!PathExists(path)) {
    return Fine("secrets", "gandem train will make " + path);
  }
  const auto credentials = LoadCredentials(path, /*certificates=*/"",
                                           /*insecure_network=*/false);
  if (credentials.ok()) {
    return Fine("secrets",
                "token and certificates in " + ParentOf(path) + " are private");
  }
  return Fault("secrets", std::string(credentials.status().message()),
               "or remove it while nothing runs: gandem train makes another");
}

Finding CheckCertificates(const std::string& path, absl::Duration needed,
                          absl::Time now) {
  const auto certificates = Certificates::Load(path);
  if (!certificates.ok()) {
    return Fault("certificates", std::string(certificates.status().message()),
                 "docs/security.md says what the folder holds");
  }
  const auto own = ParseCertificate((*certificates)->certificate_pem(), path);
  const auto authority =
      ParseCertificate((*certificates)->authority_pem(), path);
  if (!own.ok() || !authority.ok()) {
    return Fault("certificates", path + " cannot be read", "make it again");
  }
  // Its own, or that of the authority, whichever ends first.
  const absl::Time own_end = NotAfter(own->get());
  const absl::Time authority_end = NotAfter(authority->get());
  const std::string& loaded = (*certificates)->path();
  return LifeOf(authority_end < own_end ? "the authority of " + loaded : loaded,
                std::min(own_end, authority_end), needed, now);
}

}  // namespace gandem
