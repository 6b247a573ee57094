// SPDX-License-Identifier: Apache-2.0
//
// Finds gandem's programs, which are in the folder of the running program. The
// environment variable GANDEM_WORKER replaces all programs that compute by a
// program with the user's own networks (docs/library.md). A program that runs
// inside Python starts the others inside Python.
//
// Thread safety: any thread, while no thread changes the environment.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

// Folder of the programs, if it is not the running program's folder.
inline constexpr char kBinaryFolderVariable[] = "GANDEM_PROGRAMS";
// Program with the user's own networks.
inline constexpr char kOwnWorkerVariable[] = "GANDEM_WORKER";
// Python interpreter, set for programs that run inside Python.
inline constexpr char kInterpreterVariable[] = "GANDEM_INTERPRETER";

// Returns the folder named by GANDEM_PROGRAMS, or that of the running binary,
// without a final slash. The path is absolute unless GANDEM_PROGRAMS is
// relative.
absl::StatusOr<std::string> BinaryFolder();

// Returns the start of a command line: {FOLDER/NAME}, {GANDEM_WORKER, NAME} or
// {GANDEM_INTERPRETER, -m, gandem.worker, NAME}.
//   NOT_FOUND  GANDEM_WORKER is set but is not a program
absl::StatusOr<std::vector<std::string>> ProgramCommand(
    const std::string& folder, const std::string& name);

// Returns whether GANDEM_WORKER is set and not empty.
bool HasOwnWorker();

// Returns whether `path` is an executable file.
bool IsProgram(const std::string& path);

// Exports BinaryFolder() to child processes, so that they find gandem's
// programs wherever GANDEM_WORKER is. Call it before threads start.
absl::Status ShareBinaryFolder();

}  // namespace gandem
