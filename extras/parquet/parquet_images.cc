// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/parquet_images.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/printable.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "extras/parquet/parquet_files.h"
#include "extras/parquet/row_group_cache.h"
#include "pipeline/dataset.h"
#include "pipeline/formats/label_files.h"
#include "pipeline/in_parallel.h"
#include "pipeline/memory/unit_memory.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/encoded_store.h"
#include "pipeline/sources/parquet_names.h"
#include "pipeline/sources/source_kind.h"
#include "pipeline/trees/splits.h"

namespace gandem {
namespace {

// More are opened for each read.
constexpr size_t kMostOpenParquets = 256;
constexpr size_t kMaxShownPathBytes = 200;
// Of a fingerprint: few row groups, each of which is read as a whole.
constexpr int64_t kFingerprintGroups = 8;
constexpr int64_t kFingerprintRows = kFingerprintImages / kFingerprintGroups;

// Images [first, first + rows) of the data set.
struct RowGroupPlace {
  size_t shard = 0;
  int64_t number = 0;  // in the shard
  int64_t first = 0;
  int64_t rows = 0;
};

// What is known of all images before any is read.
struct ParquetIndex {
  std::vector<ShardFile> shards = {};
  std::vector<RowGroupPlace> groups = {};  // without those of no rows
  std::vector<int64_t> shard_firsts = {};  // the first image of each shard
  int64_t size = 0;
  std::vector<int64_t> labels = {};  // of each image, or none
  std::vector<std::string> class_names = {};
  std::string unused_labels = {};       // as ImageStore's
  std::vector<std::string> paths = {};  // of each image, or none
};

class ParquetImages : public EncodedStore {
 public:
  ParquetImages(std::string kind, ParquetIndex index,
                std::unique_ptr<DataWorkerPool> workers, int64_t cache_bytes)
      : kind_(std::move(kind)),
        index_(std::move(index)),
        workers_(std::move(workers)),
        cache_(cache_bytes) {}

  std::string kind() const override { return kind_; }
  int64_t size() const override { return index_.size; }
  std::string NameOf(int64_t index) const override {
    const size_t shard = index_.groups[GroupOf(index)].shard;
    const std::string row =
        absl::StrCat(index_.shards[shard].file->name(), ": row ",
                     index - index_.shard_firsts[shard]);
    if (index_.paths.empty() || index_.paths[index].empty()) return row;
    return absl::StrCat(
        row, " (", Printable(index_.paths[index], kMaxShownPathBytes), ")");
  }
  int64_t LabelOf(int64_t index) const override {
    return index_.labels.empty() ? kNoLabel : index_.labels[index];
  }
  const std::vector<std::string>& class_names() const override {
    return index_.class_names;
  }
  std::string unused_labels() const override { return index_.unused_labels; }
  std::vector<int64_t> Units() const override {
    std::vector<int64_t> firsts;
    for (const RowGroupPlace& group : index_.groups) {
      firsts.push_back(group.first);
    }
    return firsts;
  }
  int64_t stored_bytes() const override {
    int64_t bytes = 0;
    for (const ShardFile& shard : index_.shards) bytes += shard.file->size();
    return bytes;
  }
  bool reads_whole_units() const override { return true; }
  std::string KeyOf(int64_t index) const override {
    const size_t shard = index_.groups[GroupOf(index)].shard;
    const std::filesystem::path path(index_.shards[shard].file->name());
    return absl::StrCat(path.filename().string(), ": row ",
                        index - index_.shard_firsts[shard]);
  }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    const size_t number = GroupOf(index);
    const RowGroupPlace& group = index_.groups[number];
    GANDEM_ASSIGN_OR_RETURN(const RowGroupCache::Images images,
                            cache_.Get(static_cast<int64_t>(number), [&] {
                              return workers_->Read(index_.shards[group.shard],
                                                    group.number, group.rows);
                            }));
    const absl::string_view image = images->image(index - group.first);
    if (!image.empty()) return std::string(image);
    return absl::DataLossError(
        absl::StrCat(NameOf(index),
                     ": it has no image (the value is null or empty): store "
                     "the image's bytes, or remove the row"));
  }

  // Sizes of images are in the row groups, those of row groups in the index.
  absl::StatusOr<std::string> Fingerprint() const override {
    Sha256 hash;
    for (const ShardFile& shard : index_.shards) {
      const std::filesystem::path path(shard.file->name());
      hash.Update(absl::StrCat(path.filename().string(), " ",
                               shard.file->size(), "\n"));
    }
    for (int64_t i = 0; i < size(); ++i) {
      hash.Update(absl::StrCat(index_.paths.empty() ? "" : index_.paths[i], " ",
                               LabelOf(i), "\n"));
    }
    for (const RowGroupPlace& group : FingerprintGroups()) {
      const int64_t count = std::min(group.rows, kFingerprintRows);
      for (int64_t i = 0; i < count; ++i) {
        GANDEM_RETURN_IF_ERROR(
            HashIfReadable(group.first + i * group.rows / count, hash));
      }
    }
    return hash.Finish();
  }

 private:
  size_t GroupOf(int64_t index) const {
    const auto after = std::ranges::upper_bound(index_.groups, index, {},
                                                &RowGroupPlace::first);
    return static_cast<size_t>(after - index_.groups.begin()) - 1;
  }
  // Evenly spread.
  std::vector<RowGroupPlace> FingerprintGroups() const {
    std::vector<RowGroupPlace> groups;
    const int64_t size = std::ssize(index_.groups);
    const int64_t count = std::min(size, kFingerprintGroups);
    for (int64_t i = 0; i < count; ++i) {
      groups.push_back(index_.groups[i * size / count]);
    }
    return groups;
  }
  // Never change after construction.
  const std::string kind_;
  const ParquetIndex index_;

  const std::unique_ptr<DataWorkerPool> workers_;
  mutable RowGroupCache cache_;
};

absl::StatusOr<std::vector<ShardFile>> OpenFiles(
    const std::vector<std::string>& paths) {
  std::vector<ShardFile> shards;
  const bool few = paths.size() <= kMostOpenParquets;
  for (const std::string& path : paths) {
    GANDEM_ASSIGN_OR_RETURN(auto file,
                            few ? OpenFile(path) : OpenFileOnDemand(path));
    shards.push_back({.number = std::ssize(shards), .file = std::move(file)});
  }
  return shards;
}

// Texts become numbers by those of all shards, as they do in other sources.
void NumberTexts(std::vector<OpenedShard>& shards) {
  std::vector<std::string> texts;
  for (const OpenedShard& shard : shards) {
    if (!shard.labels_are_texts) continue;
    std::ranges::copy(shard.class_names, std::back_inserter(texts));
  }
  const LabelNumbers numbers(std::move(texts));
  for (OpenedShard& shard : shards) {
    if (!shard.labels_are_texts) continue;
    for (int64_t& label : shard.labels) {
      label = numbers.NumberOf(shard.class_names[label]);
    }
    shard.class_names = numbers.class_names();
  }
}

// Why the labels of two shards are not of one data set; "": they are, or the
// other one has no rows, whose labels could be missing.
std::string LabelFault(const ShardFile& file, const OpenedShard& shard,
                       const ParquetIndex& index) {
  const std::string& name = file.file->name();
  if (!shard.unused_labels.empty()) {
    return absl::StrCat(
        "'", name, "': ", Printable(shard.unused_labels, kMaxFailureBytes));
  }
  if (std::ranges::any_of(shard.labels,
                          [](int64_t label) { return label > kMaxLabel; })) {
    return absl::StrCat("'", name, "' has a label above ", kMaxLabel,
                        ", the most: number the classes from 0 on");
  }
  if (shard.rows() == 0 || index.size == 0) return "";
  const auto differs = [&](absl::string_view what) {
    return absl::StrCat("'", index.shards.front().file->name(), "' and '", name,
                        "' ", what,
                        ": shards of one data set are alike; name those that "
                        "are");
  };
  if (shard.labels.empty() != index.labels.empty()) {
    return differs("do not both have labels");
  }
  if (shard.class_names != index.class_names) {
    return differs("name their classes differently");
  }
  return "";
}

void AddShard(const ShardFile& file, OpenedShard shard, ParquetIndex& index) {
  if (index.unused_labels.empty()) {
    index.unused_labels = LabelFault(file, shard, index);
  }
  index.shard_firsts.push_back(index.size);
  if (index.size > 0 && shard.paths.empty() != index.paths.empty()) {
    shard.paths.assign(index.paths.empty() ? 0 : shard.rows(), "");
  }
  for (size_t i = 0; i < shard.row_groups.size(); ++i) {
    const int64_t rows = shard.row_groups[i].rows;
    if (rows == 0) continue;
    index.groups.push_back({.shard = static_cast<size_t>(file.number),
                            .number = static_cast<int64_t>(i),
                            .first = index.size,
                            .rows = rows});
    index.size += rows;
  }
  std::ranges::copy(shard.labels, std::back_inserter(index.labels));
  std::ranges::move(shard.paths, std::back_inserter(index.paths));
  if (shard.rows() > 0) index.class_names = std::move(shard.class_names);
  if (index.unused_labels.empty()) return;
  index.labels.clear();
  index.class_names.clear();
}

std::string KindOf(const ParquetFiles& files) {
  std::string kind = files.paths.size() == 1
                         ? "a Parquet file"
                         : absl::StrCat(files.paths.size(), " Parquet shards");
  if (files.split.empty()) return kind;
  return kind + SplitText(files.split, files.other_splits);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageStore>> OpenParquetWith(
    const std::string& path, DataWorkerPool::Starter start,
    int64_t cache_bytes) {
  GANDEM_ASSIGN_OR_RETURN(const ParquetFiles files, FindParquetFiles(path));
  ParquetIndex index;
  GANDEM_ASSIGN_OR_RETURN(index.shards, OpenFiles(files.paths));
  auto workers = std::make_unique<DataWorkerPool>(std::move(start));
  GANDEM_ASSIGN_OR_RETURN(
      std::vector<OpenedShard> opened,
      MakeInParallel<OpenedShard>(
          std::ssize(index.shards), kMostDataWorkers,
          [&](int64_t i) { return workers->Open(index.shards[i]); }));
  NumberTexts(opened);
  for (size_t i = 0; i < opened.size(); ++i) {
    AddShard(index.shards[i], std::move(opened[i]), index);
  }
  if (index.size == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", ShownUrl(path), "' has no rows: there is nothing to train on"));
  }
  return std::make_unique<ParquetImages>(KindOf(files), std::move(index),
                                         std::move(workers), cache_bytes);
}

absl::StatusOr<std::unique_ptr<ImageStore>> OpenParquet(
    const std::string& path) {
  return OpenParquetWith(path, StartDataWorker, UnitMemory());
}

// An element of ExtraSourceKinds.
SourceKind ParquetSourceKind() {
  return {.name =
              "Parquet (a file, its folder, or "
              "name-{00000..00004}-of-00005.parquet)",
          .recognizes = LooksLikeParquet,
          .open = OpenWithoutMembers<OpenParquet>};
}

}  // namespace gandem
