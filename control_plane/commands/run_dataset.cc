// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_dataset.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/files/sha256.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/sources/listing.h"
#include "pipeline/sources/open_dataset.h"
#include "pipeline/sources/resolve_data.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

// A path of the dataset.
struct DataPath {
  const char* field;
  const std::string& (DataConfig::*get)() const;
  std::string* (DataConfig::*mutable_path)();
  bool is_source;  // of any kind, not an IDX file
};

constexpr DataPath kDataPaths[] = {
    {"data.idx_images", &DataConfig::idx_images,
     &DataConfig::mutable_idx_images, false},
    {"data.idx_labels", &DataConfig::idx_labels,
     &DataConfig::mutable_idx_labels, false},
    {"data.idx_inputs", &DataConfig::idx_inputs,
     &DataConfig::mutable_idx_inputs, false},
    {"data.source", &DataConfig::source, &DataConfig::mutable_source, true},
    {"data.inputs", &DataConfig::inputs, &DataConfig::mutable_inputs, true},
    {"data.exclude", &DataConfig::exclude, &DataConfig::mutable_exclude, false},
};

// A URL stays as it is.
std::string AbsoluteOrUrl(const std::string& path) {
  return IsUrl(path) ? path : AbsoluteName(path);
}

absl::Status ProbePaths(const DataConfig& data) {
  for (const DataPath& path : kDataPaths) {
    const std::string& name = (data.*path.get)();
    if (name.empty()) continue;
    absl::Status probed = path.is_source || IsUrl(name)
                              ? ProbeSource(name)
                              : CheckIsFileOrFolder(name);
    if (absl::IsNotFound(probed) && !IsUrl(name)) {
      probed = absl::NotFoundError(absl::StrCat(
          probed.message(),
          " (where a script makes the images, the recipe's first lines name "
          "it)"));
    }
    GANDEM_RETURN_IF_ERROR(Annotate(probed, path.field));
  }
  return absl::OkStatus();
}

// Of files their SHA-256, of other sources their fingerprint.
absl::StatusOr<std::string> ContentsOf(const std::string& name, bool is_source,
                                       const std::string& member) {
  if (!is_source) return HashOfFile(name);
  GANDEM_ASSIGN_OR_RETURN(const auto source, OpenSource(name, member));
  return source->Fingerprint();
}

// Writes down which list it is, if the config does not say it.
absl::Status KnowExcludeList(DataConfig& data) {
  if (data.exclude().empty() || !data.exclude_sha256().empty()) {
    return absl::OkStatus();
  }
  absl::Status probed = CheckIsFileOrFolder(data.exclude());
  if (!probed.ok()) return Annotate(probed, "data.exclude");
  absl::StatusOr<std::string> sha256 = Sha256OfFile(data.exclude());
  if (!sha256.ok()) return Annotate(sha256.status(), "data.exclude");
  data.set_exclude_sha256(*std::move(sha256));
  return absl::OkStatus();
}

std::string RecordPath(const std::string& run_dir) {
  return run_dir + "/state/dataset.sha256";
}

bool SameNames(const DataConfig& a, const DataConfig& b) {
  return std::ranges::all_of(kDataPaths, [&](const DataPath& path) {
    return (a.*path.get)() == (b.*path.get)();
  });
}

// "FIELD SHA-256" of each file or source (ImageStore::Fingerprint), a line
// each: equal texts are equal datasets.
absl::StatusOr<std::string> DatasetContents(const DataConfig& data) {
  std::string contents;
  for (const DataPath& path : kDataPaths) {
    const std::string& name = (data.*path.get)();
    if (name.empty()) continue;
    const bool images = path.get == &DataConfig::source;
    const absl::StatusOr<std::string> hash =
        ContentsOf(name, path.is_source, images ? data.member() : "");
    if (!hash.ok()) return Annotate(hash.status(), path.field);
    absl::StrAppend(&contents, path.field, " ", *hash, "\n");
  }
  return contents;
}

}  // namespace

absl::Status ProbeSource(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                          ExpandShards(path));
  if (IsUrl(path)) {
    // Its own deadline is 30 s.
    const FileWait wait(ShownUrl(path), FileWait::kSyncPatience);
    return ProbeUrl(files.front());
  }
  // One of each folder: the others are beside it, on the same file system.
  std::set<std::string> folders;
  for (const std::string& file : files) {
    if (!folders.insert(ParentOf(file)).second) continue;
    GANDEM_RETURN_IF_ERROR(CheckIsFileOrFolder(file));
  }
  return absl::OkStatus();
}

void MakePathsAbsolute(DataConfig& data) {
  for (const DataPath& path : kDataPaths) {
    const std::string absolute = AbsoluteOrUrl((data.*path.get)());
    *(data.*path.mutable_path)() = absolute;
  }
  data.set_cache_dir(AbsoluteOrUrl(data.cache_dir()));
}

absl::StatusOr<std::string> LookAtSource(DataConfig& data) {
  if (data.source().empty()) return "";
  ResolveOrderUnseen(data);
  GANDEM_RETURN_IF_ERROR(KnowExcludeList(data));
  GANDEM_RETURN_IF_ERROR(ProbePaths(data));
  GANDEM_ASSIGN_OR_RETURN(const auto source, OpenImages(data));
  absl::StatusOr<std::string> text = ResolveAndDescribe(*source, data);
  if (!text.ok()) return Annotate(text.status(), "data.source");
  if (data.listing_sha256().empty()) {
    data.set_listing_sha256(ListingSha256(*source));
  }
  const std::string advice = AdviceOnWindow(*source, data);
  if (advice.empty()) return absl::StrCat("data: ", *text);
  return absl::StrCat("data: ", *text, "\nwarning: ", advice);
}

absl::Status CheckDataset(const DataConfig& data, bool elsewhere) {
  absl::Status checked = ProbePaths(data);
  if (checked.ok()) {
    checked =
        HasPairs(data) ? OpenPairs(data).status() : OpenDataset(data).status();
  }
  if (elsewhere && absl::IsNotFound(checked)) return absl::OkStatus();
  return checked;
}

absl::Status RecordDataset(const std::string& run_dir, const DataConfig& data,
                           bool begins) {
  if (!begins && PathExists(RecordPath(run_dir))) return absl::OkStatus();
  const absl::StatusOr<std::string> contents = DatasetContents(data);
  if (absl::IsNotFound(contents.status())) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(contents);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/state"));
  return WriteFileDurably(RecordPath(run_dir), *contents);
}

absl::Status TakeMovedDataset(const std::string& run_dir,
                              const DataConfig& data, DataConfig& old) {
  if (SameNames(data, old) || !PathExists(RecordPath(run_dir))) {
    return absl::OkStatus();
  }
  GANDEM_ASSIGN_OR_RETURN(const std::string recorded,
                          ReadFile(RecordPath(run_dir), kMaxTextProtoBytes));
  const absl::StatusOr<std::string> contents = DatasetContents(data);
  // With --external the workers' machines may have it, and this one not.
  if (absl::IsNotFound(contents.status())) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(contents);
  if (*contents != recorded) return absl::OkStatus();
  for (const DataPath& path : kDataPaths) {
    *(old.*path.mutable_path)() = (data.*path.get)();
  }
  // Files in another kind of archive may have other names.
  old.set_listing_sha256(data.listing_sha256());
  return absl::OkStatus();
}

}  // namespace gandem
