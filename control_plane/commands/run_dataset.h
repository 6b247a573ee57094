// SPDX-License-Identifier: Apache-2.0
//
// Checks the dataset of a run before its workers start: whether it can be
// opened, and whether a moved dataset has its original contents.
//
// Owner: `gandem train`. Thread safety: one thread, watched by a FilePatience
// (common/stalls/file_patience.h), so a hanging mount ends the command. Errors
// name the field of the config (data.idx_images ...) and the file.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/open_dataset.h"
#include "proto/config.pb.h"

namespace gandem {

// Makes paths absolute, because workers have other folders. Keeps URLs.
void MakePathsAbsolute(DataConfig& data);

// A data.source that was inspected and stays open for later checks.
struct SeenDataset {
  std::string text = {};                  // describes the dataset in one line
  std::optional<OpenedData> opened = {};  // nullopt: data.source is unset
};

// Opens data.source, if set, and writes into `data` the fields that depend on
// its images (ResolveData of pipeline/sources/resolve_data.h) and the SHA-256
// of data.exclude. `takes_classes`: replaces a non-zero data.num_classes by the
// number of classes found. Errors: those of CheckDataset.
absl::StatusOr<SeenDataset> LookAtSource(DataConfig& data, bool takes_classes);

// Checks that workers can read the dataset: the opened one in `seen`, or the
// files that `data` names. `elsewhere`: the dataset may exist only on the
// workers' machines.
//   NOT_FOUND ...  error of the system
//   INVALID_ARGUMENT  a pipe or a device, or an error of OpenDataset
//   DATA_LOSS  truncated or damaged
absl::Status CheckDataset(const DataConfig& data, const SeenDataset& seen,
                          bool elsewhere);

// Returns one line "FIELD SHA-256" per file or source
// (ImageStore::Fingerprint). Equal texts mean equal datasets. Returns "" if the
// run has a record already, or if this machine lacks the dataset.
absl::StatusOr<std::string> ContentsToRecord(const std::string& run_dir,
                                             const DataConfig& data,
                                             const SeenDataset& seen,
                                             bool begins);

// Writes the result of ContentsToRecord() to run_dir/state/.
absl::Status RecordDataset(const std::string& run_dir,
                           const std::string& contents);

// Copies the paths of `data` to `old` if the files have the recorded contents,
// so that a moved dataset is not a difference between configs.
absl::Status TakeMovedDataset(const std::string& run_dir,
                              const DataConfig& data, const SeenDataset& seen,
                              DataConfig& old);

}  // namespace gandem
