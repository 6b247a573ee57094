// SPDX-License-Identifier: Apache-2.0
//
// The dataset of a run, before its workers start: that it can be opened, and
// whether one that was moved is the one that the run began with.
//
// Owner: `gandem train`. Thread safety: one thread, which a FilePatience
// (common/stalls/file_patience.h) watches: a mount that hangs ends the command.
// Errors: name the field of the config (data.idx_images ...) and the file.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/open_dataset.h"
#include "proto/config.pb.h"

namespace gandem {

// Workers have other working directories. URLs stay as they are.
void MakePathsAbsolute(DataConfig& data);

// A data.source that was looked at, and stays open for the checks that follow.
struct SeenDataset {
  std::string text = {};                  // a line that says what it is
  std::optional<OpenedData> opened = {};  // none: there is no data.source
};

// Where the config names a data.source: opens it, and writes into `data` what
// depends on its images (ResolveData of pipeline/sources/resolve_data.h) and
// the SHA-256 of data.exclude. `takes_classes`: a data.num_classes that is set
// becomes the number of classes that are there. Errors are those of
// CheckDataset.
absl::StatusOr<SeenDataset> LookAtSource(DataConfig& data, bool takes_classes);

// Whether workers can read it: what was `seen`, or else the files that it
// names, which are opened and given up again. `elsewhere`: the workers'
// machines may have it, and this one not.
//   NOT_FOUND ...      the system's error.
//   INVALID_ARGUMENT   a pipe or a device; or what OpenDataset says.
//   DATA_LOSS          truncated or damaged.
absl::Status CheckDataset(const DataConfig& data, const SeenDataset& seen,
                          bool elsewhere);

// "FIELD SHA-256" of each file or source (ImageStore::Fingerprint), a line
// each: equal texts are equal datasets. Empty where nothing is to be recorded:
// the run has begun and has its record, or this machine lacks the dataset.
absl::StatusOr<std::string> ContentsToRecord(const std::string& run_dir,
                                             const DataConfig& data,
                                             const SeenDataset& seen,
                                             bool begins);

// Writes what ContentsToRecord has found to run_dir/state/, for
// TakeMovedDataset.
absl::Status RecordDataset(const std::string& run_dir,
                           const std::string& contents);

// Where `data` names other files than `old` with the content that was recorded,
// gives `old` their names: that is no difference.
absl::Status TakeMovedDataset(const std::string& run_dir,
                              const DataConfig& data, const SeenDataset& seen,
                              DataConfig& old);

}  // namespace gandem
