// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/checkpoint_files.h"

#include <google/protobuf/text_format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/check.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/file_writer.h"
#include "common/files/text_proto.h"
#include "common/process/failpoint.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::string_view kPendingSuffix = ".tmp";

constexpr char kCheckpoints[] = "checkpoints";

std::string CheckpointsDir(const std::string& run_dir) {
  return absl::StrCat(run_dir, "/", kCheckpoints);
}

std::string CheckpointName(int64_t step) {
  return absl::StrFormat("%s/step-%09d", kCheckpoints, step);
}

// Accepts only names made by CheckpointPath and ignores everything else.
std::optional<int64_t> StepOfName(absl::string_view name) {
  absl::string_view digits = name;
  int64_t step = 0;
  if (!absl::ConsumePrefix(&digits, "step-") ||
      !absl::SimpleAtoi(digits, &step) || step < 0 ||
      name != absl::StrFormat("step-%09d", step)) {
    return std::nullopt;
  }
  return step;
}

// Names of a foreign manifest must not leave the folder.
bool IsPlainName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name != kManifestName && !absl::StrContains(name, '/') &&
         !absl::StrContains(name, '\0');
}

absl::Status CheckManifest(const CheckpointManifest& manifest) {
  if (manifest.files().empty()) {
    return absl::InvalidArgumentError("the manifest lists no file");
  }
  std::set<absl::string_view> names;
  for (const CheckpointFile& file : manifest.files()) {
    if (!IsPlainName(file.name()) || !names.insert(file.name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the manifest lists the bad or repeated file name '",
                       file.name(), "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckManifestSizes(const std::string& path,
                                const CheckpointManifest& manifest) {
  for (const CheckpointFile& file : manifest.files()) {
    const std::string name = path + "/" + file.name();
    const FileWait wait(name);
    struct stat info;
    if (stat(name.c_str(), &info) != 0) {
      return absl::DataLossError(absl::StrCat("'", name, "' is missing"));
    }
    if (info.st_size != file.size()) {
      return absl::DataLossError(absl::StrCat("'", name, "' has ", info.st_size,
                                              " bytes, the manifest says ",
                                              file.size()));
    }
  }
  return absl::OkStatus();
}

absl::Status Rename(const std::string& from, const std::string& to) {
  const FileWait wait(to);
  if (rename(from.c_str(), to.c_str()) != 0) {
    return FileError(errno, absl::StrCat("cannot rename '", from, "' to"), to);
  }
  return absl::OkStatus();
}

// A missing file means that the checkpoint was pruned, so it is not copied.
absl::Status LinkOrCopy(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  if (errno == ENOENT) return FileError(errno, "cannot link", from);
  GANDEM_ASSIGN_OR_RETURN(const std::string contents, ReadFile(from));
  return WriteFileDurably(to, contents);
}

// Syncs three levels, because the folder and its parent may be new.
absl::Status SyncNameOf(const std::string& kept) {
  const std::string folder = ParentOf(kept);
  GANDEM_RETURN_IF_ERROR(FsyncDirectory(folder));
  GANDEM_RETURN_IF_ERROR(FsyncDirectory(ParentOf(folder)));
  return FsyncDirectory(ParentOf(ParentOf(folder)));
}

bool IsCompleteFor(const std::string& path, const CheckpointManifest& wanted) {
  const auto manifest = VerifyCheckpoint(path);
  return manifest.ok() && manifest->step() == wanted.step() &&
         manifest->config_hash() == wanted.config_hash();
}

absl::Status RenamePending(const std::string& run_dir,
                           const CheckpointManifest& manifest,
                           const std::string& pending) {
  const std::string path = CheckpointPath(run_dir, manifest.step());
  // An earlier attempt has already completed the checkpoint.
  if (!PathExists(pending) && IsCompleteFor(path, manifest)) {
    return absl::OkStatus();
  }
  GANDEM_RETURN_IF_ERROR(CheckManifest(manifest));
  GANDEM_RETURN_IF_ERROR(CheckManifestSizes(pending, manifest));
  std::string text;
  GANDEM_CHECK(google::protobuf::TextFormat::PrintToString(manifest, &text));
  GANDEM_FAILPOINT("checkpoint.before_manifest");
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(pending + "/" + kManifestName, text));
  if (PathExists(path)) {
    if (IsCompleteFor(path, manifest)) return RemoveAll(pending);
    GANDEM_RETURN_IF_ERROR(RemoveCheckpoint(run_dir, manifest.step()));
  }
  GANDEM_FAILPOINT("checkpoint.before_rename");
  GANDEM_RETURN_IF_ERROR(Rename(pending, path));
  GANDEM_FAILPOINT("checkpoint.after_rename");
  return absl::OkStatus();
}

std::string LastGoodLink(const std::string& run_dir) {
  return absl::StrCat(CheckpointsDir(run_dir), "/last-good");
}

}  // namespace

std::string PendingCheckpointPath(const std::string& run_dir, int64_t step,
                                  int64_t run_epoch) {
  return absl::StrCat(run_dir, "/", PendingCheckpointName(step, run_epoch));
}

std::string PendingCheckpointName(int64_t step, int64_t run_epoch) {
  return absl::StrCat(CheckpointName(step), ".", run_epoch, kPendingSuffix);
}

std::string CheckpointPath(const std::string& run_dir, int64_t step) {
  return absl::StrCat(run_dir, "/", CheckpointName(step));
}

absl::Status CommitCheckpoint(const std::string& run_dir,
                              const CheckpointManifest& manifest) {
  const std::string pending =
      PendingCheckpointPath(run_dir, manifest.step(), manifest.run_epoch());
  absl::Status committed = RenamePending(run_dir, manifest, pending);
  if (committed.ok()) committed = FsyncDirectory(CheckpointsDir(run_dir));
  if (committed.ok()) committed = FsyncDirectory(run_dir);
  if (!committed.ok() && !DiskMayRecover(committed)) {
    RemoveAll(pending).IgnoreError();
  }
  return committed;
}

absl::StatusOr<std::vector<int64_t>> ListCheckpoints(
    const std::string& run_dir) {
  std::vector<int64_t> steps;
  const auto names = ListDirectory(CheckpointsDir(run_dir));
  if (absl::IsNotFound(names.status())) return steps;
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::optional<int64_t> step = StepOfName(name);
    if (step.has_value()) steps.push_back(*step);
  }
  std::ranges::sort(steps, std::greater<>());
  return steps;
}

absl::StatusOr<int64_t> MarkLastGood(const std::string& run_dir,
                                     int64_t max_step) {
  const std::string link = LastGoodLink(run_dir);
  if (unlink(link.c_str()) != 0 && errno != ENOENT) {
    return FileError(errno, "cannot remove", link);
  }
  GANDEM_ASSIGN_OR_RETURN(const std::vector<int64_t> steps,
                          ListCheckpoints(run_dir));
  const auto found = std::ranges::find_if(
      steps, [max_step](int64_t step) { return step <= max_step; });
  if (found == steps.end()) {
    return absl::NotFoundError(absl::StrCat("no checkpoint of ", max_step,
                                            " rounds or fewer in '",
                                            CheckpointsDir(run_dir), "'"));
  }
  const std::string path = CheckpointPath("", *found);
  const std::string name = path.substr(path.find_last_of('/') + 1);
  if (symlink(name.c_str(), link.c_str()) != 0) {
    return FileError(errno, "cannot make the link", link);
  }
  return *found;
}

absl::StatusOr<FoundCheckpoint> FindNewestCheckpoint(
    const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<int64_t> steps,
                          ListCheckpoints(run_dir));
  FoundCheckpoint found;
  for (const int64_t step : steps) {
    found.path = CheckpointPath(run_dir, step);
    auto manifest = VerifyCheckpoint(found.path);
    if (manifest.ok()) {
      found.step = step;
      found.manifest = *std::move(manifest);
      return found;
    }
    found.skipped_with_reason.push_back(
        absl::StrCat(found.path, ": ", manifest.status().message()));
  }
  if (found.skipped_with_reason.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no checkpoint in '", CheckpointsDir(run_dir), "'"));
  }
  return absl::DataLossError(absl::StrCat(
      "none of the checkpoints in '", CheckpointsDir(run_dir),
      "' is complete; move that folder away to train from the beginning. ",
      absl::StrJoin(found.skipped_with_reason, "; ")));
}

absl::StatusOr<CheckpointManifest> VerifyCheckpoint(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(CheckpointManifest manifest, ReadManifest(path));
  const std::string folder = path.substr(path.find_last_of('/') + 1);
  if (StepOfName(folder) != manifest.step()) {
    return absl::DataLossError(
        absl::StrCat("its manifest is that of step ", manifest.step()));
  }
  GANDEM_RETURN_IF_ERROR(CheckManifestSizes(path, manifest));
  for (const CheckpointFile& file : manifest.files()) {
    const std::string name = path + "/" + file.name();
    GANDEM_ASSIGN_OR_RETURN(const FileSummary summary, SummarizeFile(name));
    if (summary.size != file.size() || summary.crc32c != file.crc32c()) {
      return absl::DataLossError(
          absl::StrCat("'", name, "' does not have the manifest's CRC32C"));
    }
  }
  return manifest;
}

absl::Status CheckSizes(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const CheckpointManifest manifest,
                          ReadManifest(path));
  return CheckManifestSizes(path, manifest);
}

// Renames the folder to *.tmp before removing its files.
absl::Status RemoveCheckpoint(const std::string& run_dir, int64_t step) {
  const std::string path = CheckpointPath(run_dir, step);
  const std::string doomed = absl::StrCat(path, ".old", kPendingSuffix);
  GANDEM_RETURN_IF_ERROR(RemoveAll(doomed));
  GANDEM_RETURN_IF_ERROR(Rename(path, doomed));
  GANDEM_FAILPOINT("checkpoint.prune");
  GANDEM_RETURN_IF_ERROR(RemoveAll(doomed));
  // Removes the link if it pointed to this checkpoint.
  const std::string link = LastGoodLink(run_dir);
  if (!PathExists(link)) unlink(link.c_str());
  return absl::OkStatus();
}

absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& path) {
  const std::string name = path + "/" + kManifestName;
  const auto text = ReadFile(name, kMaxTextProtoBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::DataLossError(absl::StrCat("'", name, "' is missing"));
  }
  if (!text.ok()) return text.status();
  CheckpointManifest manifest;
  const absl::Status parsed = ParseTextProto(*text, name, manifest);
  if (!parsed.ok()) return absl::DataLossError(parsed.message());
  const absl::Status checked = CheckManifest(manifest);
  if (!checked.ok()) {
    return absl::DataLossError(absl::StrCat(name, ": ", checked.message()));
  }
  return manifest;
}

absl::StatusOr<std::string> KeepCheckpoint(const std::string& path,
                                           const std::string& folder) {
  const std::string kept =
      folder + "/" + path.substr(path.find_last_of('/') + 1);
  if (PathExists(kept)) {
    // The process that made it may not have synced yet.
    GANDEM_RETURN_IF_ERROR(SyncNameOf(kept));
    return kept;
  }
  // Several processes may keep one checkpoint, so the name contains the pid.
  const std::string pending = absl::StrCat(kept, ".", getpid(), kPendingSuffix);
  absl::Cleanup remove_pending = [&pending] {
    RemoveAll(pending).IgnoreError();
  };
  GANDEM_RETURN_IF_ERROR(RemoveAll(pending));
  GANDEM_RETURN_IF_ERROR(CreateDirectories(pending));
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(path));
  for (const std::string& name : names) {
    GANDEM_RETURN_IF_ERROR(LinkOrCopy(path + "/" + name, pending + "/" + name));
  }
  if (!PathExists(pending + "/" + kManifestName)) {
    return absl::NotFoundError(
        absl::StrCat("'", path, "' is no checkpoint, or no more"));
  }
  // Synced now because the original may be removed after the return.
  GANDEM_RETURN_IF_ERROR(FsyncDirectory(pending));
  const absl::Status renamed = Rename(pending, kept);
  if (!renamed.ok() && !PathExists(kept)) return renamed;
  GANDEM_RETURN_IF_ERROR(SyncNameOf(kept));
  return kept;
}

absl::Status RemovePending(const std::string& run_dir) {
  const std::string folder = CheckpointsDir(run_dir);
  const auto names = ListDirectory(folder);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, kPendingSuffix)) continue;
    GANDEM_RETURN_IF_ERROR(RemoveAll(folder + "/" + name));
  }
  return absl::OkStatus();
}

}  // namespace gandem
