// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_dataset.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/files/sha256.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/sources/open_dataset.h"
#include "pipeline/sources/resolve_data.h"

namespace gandem {
namespace {

struct DataPath {
  const char* field;
  const std::string& (DataConfig::*get)() const;
  std::string* (DataConfig::*mutable_path)();
  bool is_source;  // any kind of dataset, not only an IDX file
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

std::string AbsoluteOrUrl(const std::string& path) {
  return IsUrl(path) ? path : AbsoluteName(path);
}

absl::Status WithWayToMakeIt(const absl::Status& status,
                             const DataConfig& data) {
  if (!absl::IsNotFound(status) || IsUrl(ImagesPath(data))) return status;
  return absl::NotFoundError(absl::StrCat(
      status.message(),
      " (if a script makes the images, the recipe's first lines name it; "
      "--data FOLDER takes your own)"));
}

// Sets data.exclude_sha256 if the config lacks it.
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

absl::StatusOr<std::string> ContentsOf(const std::string& name,
                                       bool is_source) {
  if (!is_source) return HashOfFile(name);
  GANDEM_ASSIGN_OR_RETURN(const auto source, OpenSource(name));
  return source->Fingerprint();
}

std::string RecordPath(const std::string& run_dir) {
  return run_dir + "/state/dataset.sha256";
}

bool SameNames(const DataConfig& a, const DataConfig& b) {
  return std::ranges::all_of(kDataPaths, [&](const DataPath& path) {
    return (a.*path.get)() == (b.*path.get)();
  });
}

absl::StatusOr<std::string> DatasetContents(const DataConfig& data,
                                            const SeenDataset& seen) {
  std::string contents;
  for (const DataPath& path : kDataPaths) {
    const std::string& name = (data.*path.get)();
    if (name.empty()) continue;
    const bool is_opened =
        path.get == &DataConfig::source && seen.opened.has_value();
    const absl::StatusOr<std::string> hash =
        is_opened ? seen.opened->whole->Fingerprint()
                  : ContentsOf(name, path.is_source);
    if (!hash.ok()) return Annotate(hash.status(), path.field);
    absl::StrAppend(&contents, path.field, " ", *hash, "\n");
  }
  return contents;
}

}  // namespace

void MakePathsAbsolute(DataConfig& data) {
  for (const DataPath& path : kDataPaths) {
    const std::string absolute = AbsoluteOrUrl((data.*path.get)());
    *(data.*path.mutable_path)() = absolute;
  }
  data.set_cache_dir(AbsoluteOrUrl(data.cache_dir()));
}

absl::StatusOr<SeenDataset> LookAtSource(DataConfig& data, bool takes_classes) {
  SeenDataset seen;
  if (data.source().empty()) return seen;
  ResolveOrderUnseen(data);
  GANDEM_RETURN_IF_ERROR(KnowExcludeList(data));
  absl::StatusOr<OpenedData> opened = OpenData(data);
  if (!opened.ok()) return WithWayToMakeIt(opened.status(), data);
  const ImageStore& images = *opened->images;
  const int64_t num_classes = NumClasses(images);
  if (takes_classes && data.num_classes() > 0 && num_classes > 0) {
    data.set_num_classes(num_classes);
  }
  absl::StatusOr<std::string> text = ResolveAndDescribe(images, data);
  if (!text.ok()) return Annotate(text.status(), "data.source");
  if (data.listing_sha256().empty()) {
    data.set_listing_sha256(ListingSha256(images));
  }
  const std::string advice = AdviceOnWindow(images, data);
  seen.text = absl::StrCat("data: ", *text,
                           advice.empty() ? "" : "\nwarning: ", advice);
  seen.opened = *std::move(opened);
  return seen;
}

absl::Status CheckDataset(const DataConfig& data, const SeenDataset& seen,
                          bool elsewhere) {
  absl::StatusOr<OpenedData> opened =
      seen.opened.has_value() ? *seen.opened : OpenData(data);
  absl::Status checked = opened.status();
  if (opened.ok()) {
    checked = HasPairs(data) ? PairsOf(*opened, data).status()
                             : DatasetOf(*opened, data).status();
  }
  if (elsewhere && absl::IsNotFound(checked)) return absl::OkStatus();
  return WithWayToMakeIt(checked, data);
}

absl::StatusOr<std::string> ContentsToRecord(const std::string& run_dir,
                                             const DataConfig& data,
                                             const SeenDataset& seen,
                                             bool begins) {
  if (!begins && PathExists(RecordPath(run_dir))) return "";
  absl::StatusOr<std::string> contents = DatasetContents(data, seen);
  if (absl::IsNotFound(contents.status())) return "";
  return contents;
}

absl::Status RecordDataset(const std::string& run_dir,
                           const std::string& contents) {
  if (contents.empty()) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/state"));
  return WriteFileDurably(RecordPath(run_dir), contents);
}

absl::Status TakeMovedDataset(const std::string& run_dir,
                              const DataConfig& data, const SeenDataset& seen,
                              DataConfig& old) {
  if (SameNames(data, old) || !PathExists(RecordPath(run_dir))) {
    return absl::OkStatus();
  }
  GANDEM_ASSIGN_OR_RETURN(const std::string recorded,
                          ReadFile(RecordPath(run_dir), kMaxTextProtoBytes));
  const absl::StatusOr<std::string> contents = DatasetContents(data, seen);
  // With --external, only the workers' machines may have the dataset.
  if (absl::IsNotFound(contents.status())) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(contents);
  if (*contents != recorded) return absl::OkStatus();
  for (const DataPath& path : kDataPaths) {
    *(old.*path.mutable_path)() = (data.*path.get)();
  }
  // File names may differ between kinds of archives.
  old.set_listing_sha256(data.listing_sha256());
  return absl::OkStatus();
}

}  // namespace gandem
