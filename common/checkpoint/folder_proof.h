// SPDX-License-Identifier: Apache-2.0
//
// Proof that a process sees the run folder of its coordinator, and no folder of
// the same name on another disk: the coordinator writes a random text under a
// random name, which no copy of the folder and no cache of a network file
// system can have, and the process tells it.
//
// Thread safety: any thread; one process at a time writes.
// Errors: those of common/files/file.h, and
//   INVALID_ARGUMENT  the proof is not there; says what to do.
//   UNAVAILABLE       the run folder is away; asks for its mount.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

struct FolderProof {
  std::string file;  // in the run folder: "state/folder-..."
  std::string text;
};

// In place of those of earlier coordinators.
absl::StatusOr<FolderProof> WriteFolderProof(const std::string& run_dir);

// Writes it again if somebody has removed it.
absl::Status MendFolderProof(const std::string& run_dir,
                             const FolderProof& proof);

// The text of FolderProof::file, as this process sees it.
absl::StatusOr<std::string> ReadFolderProof(const std::string& run_dir,
                                            const std::string& file);

// Creates run_dir/name and its parents in the run folder of a coordinator, and
// never the run folder: while its mount is away, what is written in its place
// lies hidden under the mount later. OK when it is there.
absl::Status CreateInRunFolder(const std::string& run_dir,
                               const std::string& name);

}  // namespace gandem
