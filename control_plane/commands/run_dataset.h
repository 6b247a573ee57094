// SPDX-License-Identifier: Apache-2.0
//
// The dataset of a run, before its workers start: that it can be opened, and
// whether one that was moved is the one that the run began with.
//
// Owner: `gandem train`. Thread safety: one thread, which a FilePatience
// (common/stalls/file_patience.h) watches: a mount that hangs ends the command.
// Errors: name the field of the config (data.idx_images ...) and the file.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

// Whether a source can be opened at all: errors of CheckIsFileOrFolder; of a
// URL those of ProbeUrl, whose deadlines are its own.
absl::Status ProbeSource(const std::string& path);

// Workers have other working directories. URLs stay as they are.
void MakePathsAbsolute(DataConfig& data);

// Where the config names a data.source: writes into `data` what depends on its
// images (ResolveData of pipeline/sources/open_dataset.h) and the SHA-256 of
// data.exclude, and returns a line that says what it is; else "". Errors are
// those of CheckDataset.
absl::StatusOr<std::string> LookAtSource(DataConfig& data);

// Opens and reads it as the workers do, and gives it up again. `elsewhere`: the
// workers' machines may have it, and this one not.
//   NOT_FOUND ...      the system's error.
//   INVALID_ARGUMENT   a pipe or a device; or what OpenDataset says.
//   DATA_LOSS          truncated or damaged.
absl::Status CheckDataset(const DataConfig& data, bool elsewhere);

// Writes hashes of the dataset to run_dir/state/ for TakeMovedDataset, where
// the run begins or does not know it yet, and where this machine has the
// dataset.
absl::Status RecordDataset(const std::string& run_dir, const DataConfig& data,
                           bool begins);

// Where `data` names other files than `old` with the content that was recorded,
// gives `old` their names: that is no difference.
absl::Status TakeMovedDataset(const std::string& run_dir,
                              const DataConfig& data, DataConfig& old);

}  // namespace gandem
