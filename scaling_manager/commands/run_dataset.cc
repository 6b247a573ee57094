// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/run_dataset.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/files/file.h"
#include "common/files/sha256.h"
#include "common/files/text_proto.h"
#include "common/process/file_probe.h"
#include "common/status.h"
#include "pipeline/sources/open_dataset.h"

namespace gandem {
namespace {

struct DataFile {
  absl::string_view field;
  std::string path;  // empty: there is none
};

std::array<DataFile, 3> FilesOf(const DataConfig& data) {
  return {DataFile{"data.idx_images", data.idx_images()},
          DataFile{"data.idx_labels", data.idx_labels()},
          DataFile{"data.idx_inputs", data.idx_inputs()}};
}

std::string RecordPath(const std::string& run_dir) {
  return run_dir + "/state/dataset.sha256";
}

bool SameNames(const DataConfig& a, const DataConfig& b) {
  return a.idx_images() == b.idx_images() && a.idx_labels() == b.idx_labels() &&
         a.idx_inputs() == b.idx_inputs();
}

}  // namespace

void MakePathsAbsolute(DataConfig& data) {
  data.set_idx_images(AbsoluteName(data.idx_images()));
  data.set_idx_labels(AbsoluteName(data.idx_labels()));
  data.set_idx_inputs(AbsoluteName(data.idx_inputs()));
}

absl::Status CheckDataset(const DataConfig& data, absl::Duration limit) {
  for (const DataFile& file : FilesOf(data)) {
    if (file.path.empty()) continue;
    GANDEM_RETURN_IF_ERROR(Annotate(ProbeFile(file.path, limit), file.field));
  }
  return data.idx_inputs().empty() ? OpenDataset(data).status()
                                   : OpenPairs(data).status();
}

absl::StatusOr<std::string> DatasetContents(const DataConfig& data) {
  std::string contents;
  for (const DataFile& file : FilesOf(data)) {
    if (file.path.empty()) continue;
    const absl::StatusOr<std::string> hash = Sha256OfFile(file.path);
    if (!hash.ok()) return Annotate(hash.status(), file.field);
    absl::StrAppend(&contents, file.field, " ", *hash, "\n");
  }
  return contents;
}

absl::Status RecordDataset(const std::string& run_dir, const DataConfig& data) {
  GANDEM_ASSIGN_OR_RETURN(const std::string contents, DatasetContents(data));
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/state"));
  return WriteFileDurably(RecordPath(run_dir), contents);
}

bool HasDatasetRecord(const std::string& run_dir) {
  return PathExists(RecordPath(run_dir));
}

absl::Status TakeMovedDataset(const std::string& run_dir,
                              const DataConfig& data, DataConfig& old) {
  if (SameNames(data, old) || !HasDatasetRecord(run_dir)) {
    return absl::OkStatus();
  }
  GANDEM_ASSIGN_OR_RETURN(const std::string recorded,
                          ReadFile(RecordPath(run_dir), kMaxTextProtoBytes));
  const absl::StatusOr<std::string> contents = DatasetContents(data);
  // With --external the workers' machines may have it, and this one not.
  if (absl::IsNotFound(contents.status())) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(contents);
  if (*contents != recorded) return absl::OkStatus();
  old.set_idx_images(data.idx_images());
  old.set_idx_labels(data.idx_labels());
  old.set_idx_inputs(data.idx_inputs());
  return absl::OkStatus();
}

}  // namespace gandem
