// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/initial_state.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/file_writer.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::string_view kUnfinished = ".tmp";

std::string InitialStateFolder(const std::string& run_dir) {
  return run_dir + "/init";
}

std::string InitialStateName(absl::string_view role, uint32_t crc32c) {
  return absl::StrCat(role, "-", absl::Hex(crc32c, absl::kZeroPad8));
}

// Returns the copies for a role: at most one, except after a crash.
absl::StatusOr<std::vector<std::string>> KeptNames(const std::string& folder,
                                                   absl::string_view role) {
  std::vector<std::string> kept;
  if (!PathExists(folder)) return kept;
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          ListDirectory(folder));
  for (std::string& name : names) {
    if (absl::StartsWith(name, absl::StrCat(role, "-")) &&
        !absl::EndsWith(name, kUnfinished)) {
      kept.push_back(std::move(name));
    }
  }
  return kept;
}

absl::Status KeepCopy(const std::string& folder, const std::string& file,
                      const std::string& name,
                      const std::vector<std::string>& replaced) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
  for (const std::string& old : replaced) {
    GANDEM_RETURN_IF_ERROR(RemoveAll(absl::StrCat(folder, "/", old)));
  }
  const std::string path = absl::StrCat(folder, "/", name);
  const std::string unfinished = absl::StrCat(path, kUnfinished);
  GANDEM_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(unfinished));
  absl::Status written;
  GANDEM_RETURN_IF_ERROR(
      ReadPieces(file, [&](std::span<const std::byte> piece) {
        if (written.ok()) written = writer.Append(piece);
      }));
  GANDEM_RETURN_IF_ERROR(written);
  GANDEM_RETURN_IF_ERROR(writer.Sync());
  GANDEM_RETURN_IF_ERROR(writer.Close().status());
  return RenameDurably(unfinished, path);
}

// Files of a checkpoint also contain averages and an optimizer.
absl::Status CheckIsNoCheckpoint(absl::string_view role,
                                 const std::string& file) {
  if (!PathExists(absl::StrCat(file, "/", kManifestName)) &&
      !PathExists(absl::StrCat(ParentOf(file), "/", kManifestName))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--init_", role, " ", file,
      ": it is part of a checkpoint of gandem, "
      "which is no state dict; ",
      role == "generator"
          ? "`gandem export RUN_DIR --raw --checkpoint N -o g.safetensors` "
            "writes the weights alone"
          : "only generators are exported to one, so the discriminator has to "
            "begin with drawn values"));
}

absl::Status Take(const std::string& run_dir, absl::string_view role,
                  const std::string& file, bool begins,
                  std::vector<std::string>& lines) {
  const std::string folder = InitialStateFolder(run_dir);
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> kept,
                          KeptNames(folder, role));
  if (file.empty()) {
    if (begins && !kept.empty()) {
      lines.push_back(absl::StrCat(
          "the ", role, " begins with ", folder, "/", kept.front(),
          ", which this run was first given; remove it to begin with drawn "
          "values"));
    }
    return absl::OkStatus();
  }
  GANDEM_RETURN_IF_ERROR(CheckIsNoCheckpoint(role, file));
  const absl::StatusOr<FileSummary> summary = SummarizeFile(file);
  if (!summary.ok()) {
    return Annotate(summary.status(), absl::StrCat("--init_", role));
  }
  const std::string name = InitialStateName(role, summary->crc32c);
  if (kept == std::vector<std::string>{name}) return absl::OkStatus();
  if (begins) return KeepCopy(folder, file, name, kept);
  return absl::FailedPreconditionError(
      absl::StrCat("--init_", role, " ", file, ": the run in '", run_dir,
                   "' has checkpoints already and began ",
                   kept.empty() ? "without one" : "with other values",
                   "; leave it out to go on, or choose another --run_dir"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> TakeInitialStates(
    const std::string& run_dir, const InitialStates& given, bool begins) {
  std::vector<std::string> lines;
  GANDEM_RETURN_IF_ERROR(
      Take(run_dir, "generator", given.generator, begins, lines));
  GANDEM_RETURN_IF_ERROR(
      Take(run_dir, "discriminator", given.discriminator, begins, lines));
  return lines;
}

absl::StatusOr<std::string> FindInitialState(const std::string& run_dir,
                                             absl::string_view role) {
  const std::string folder = InitialStateFolder(run_dir);
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> kept,
                          KeptNames(folder, role));
  if (kept.empty()) return "";
  const std::string path = absl::StrCat(folder, "/", kept.front());
  GANDEM_ASSIGN_OR_RETURN(const FileSummary summary, SummarizeFile(path));
  if (InitialStateName(role, summary.crc32c) == kept.front()) return path;
  return absl::DataLossError(absl::StrCat(
      path, ": its bytes are not those that its name says; begin again with ",
      "--init_", role, " in another --run_dir"));
}

}  // namespace gandem
