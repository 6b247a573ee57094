// SPDX-License-Identifier: Apache-2.0
//
// Locations of gandem's programs. They lie beside the running program. If the
// environment variable GANDEM_WORKER names a program with the user's own
// networks, it replaces all programs that compute (docs/library.md). A program
// inside Python starts others inside Python.
//
// Thread safety: any thread, as long as none changes the environment.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

// Environment variable that names the folder of the programs, if they lie
// elsewhere.
inline constexpr char kBinaryFolderVariable[] = "GANDEM_PROGRAMS";
// Names a program with networks of the user's own.
inline constexpr char kOwnWorkerVariable[] = "GANDEM_WORKER";
// Names, to a program inside Python, its interpreter.
inline constexpr char kInterpreterVariable[] = "GANDEM_INTERPRETER";

// The folder that GANDEM_PROGRAMS names, or else that of the running binary.
// Without a final slash; absolute, unless GANDEM_PROGRAMS is not.
absl::StatusOr<std::string> BinaryFolder();

// The start of a command line: {FOLDER/NAME}, or {GANDEM_WORKER, NAME}, or
// {GANDEM_INTERPRETER, -m, gandem.worker, NAME}.
//   NOT_FOUND  GANDEM_WORKER is set and is no program.
absl::StatusOr<std::vector<std::string>> ProgramCommand(
    const std::string& folder, const std::string& name);

// Whether the environment names a GANDEM_WORKER; an empty one is none.
bool HasOwnWorker();

// A file that may be executed.
bool IsProgram(const std::string& path);

// Lets the programs that this one starts find gandem's other ones, wherever
// GANDEM_WORKER lies: BinaryFolder() is that of this process in all of them.
// Call it before threads start.
absl::Status ShareBinaryFolder();

}  // namespace gandem
