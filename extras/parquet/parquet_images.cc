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
#include "common/status.h"
#include "extras/parquet/parquet_files.h"
#include "pipeline/dataset.h"
#include "pipeline/formats/label_files.h"
#include "pipeline/in_parallel.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/shared_cache.h"
#include "pipeline/sources/encoded_store.h"
#include "pipeline/sources/parquet_names.h"
#include "pipeline/sources/source_kind.h"
#include "pipeline/trees/splits.h"

namespace gandem {
namespace {

// Chosen limit of open files; further files are opened for each read.
constexpr size_t kMostOpenParquets = 256;
constexpr size_t kMaxShownPathBytes = 200;
// Images [first, first + rows) of the data set.
struct RowGroupPlace {
  size_t shard = 0;
  int64_t number = 0;  // in the shard
  int64_t first = 0;
  int64_t rows = 0;
  int64_t bytes = 0;  // size of the images in the file
};

using RowGroupCache = SharedCache<int64_t, RowGroupImages>;

// Properties of all images that are known before any image is read.
struct ParquetIndex {
  std::vector<ShardFile> shards = {};
  std::vector<RowGroupPlace> groups = {};  // without empty ones
  std::vector<int64_t> shard_firsts = {};  // the first image of each shard
  std::vector<std::string> paths = {};     // of each image, or none
};

class ParquetImages : public EncodedStore {
 public:
  ParquetImages(SourceInfo info, ParquetIndex index,
                std::unique_ptr<DataWorkerPool> workers, int64_t cache_bytes)
      : EncodedStore(std::move(info)),
        index_(std::move(index)),
        workers_(std::move(workers)),
        cache_(cache_bytes) {}

  std::string NameOf(int64_t index) const override {
    const std::string row = RowOf(index, ShardOf(index).name());
    if (index_.paths.empty() || index_.paths[index].empty()) return row;
    return absl::StrCat(
        row, " (", Printable(index_.paths[index], kMaxShownPathBytes), ")");
  }
  std::string KeyOf(int64_t index) const override {
    const std::filesystem::path path(ShardOf(index).name());
    return RowOf(index, path.filename().string());
  }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    const size_t number = GroupOf(index);
    const RowGroupPlace& group = index_.groups[number];
    GANDEM_ASSIGN_OR_RETURN(
        const RowGroupCache::Piece images,
        cache_.Get(static_cast<int64_t>(number), group.bytes,
                   absl::InfiniteFuture(), [&] {
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

 private:
  size_t GroupOf(int64_t index) const {
    const auto after = std::ranges::upper_bound(index_.groups, index, {},
                                                &RowGroupPlace::first);
    return static_cast<size_t>(after - index_.groups.begin()) - 1;
  }
  const RandomAccessFile& ShardOf(int64_t index) const {
    return *index_.shards[index_.groups[GroupOf(index)].shard].file;
  }
  std::string RowOf(int64_t index, absl::string_view file) const {
    const size_t shard = index_.groups[GroupOf(index)].shard;
    return absl::StrCat(file, ": row ", index - index_.shard_firsts[shard]);
  }

  const ParquetIndex index_;  // never changes after construction

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

// Numbers the texts of all shards together in sorted order, like other sources.
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

// Why the labels of two shards do not fit together; "" if they do, or if the
// other shard has no rows.
std::string LabelFault(const ShardFile& file, const OpenedShard& shard,
                       const SourceInfo& info, const ParquetIndex& index) {
  const std::string& name = file.file->name();
  if (!shard.unused_labels.empty()) {
    return absl::StrCat(
        "'", name, "': ", Printable(shard.unused_labels, kMaxFailureBytes));
  }
  if (std::ranges::any_of(shard.labels,
                          [](int64_t label) { return label > kMaxLabel; })) {
    return absl::StrCat("'", name, "' has a label above ", kMaxLabel,
                        ", the limit: number the classes from 0 on");
  }
  if (shard.rows() == 0 || info.size == 0) return "";
  const auto differs = [&](absl::string_view what) {
    return absl::StrCat("'", index.shards.front().file->name(), "' and '", name,
                        "' ", what,
                        ": shards of one data set must agree; name only those "
                        "that do");
  };
  if (shard.labels.empty() != info.labels.empty()) {
    return differs("do not both have labels");
  }
  if (shard.class_names != info.class_names) {
    return differs("name their classes differently");
  }
  return "";
}

void AddShard(const ShardFile& file, OpenedShard shard, SourceInfo& info,
              ParquetIndex& index) {
  if (info.unused_labels.empty()) {
    info.unused_labels = LabelFault(file, shard, info, index);
  }
  index.shard_firsts.push_back(info.size);
  if (info.size > 0 && shard.paths.empty() != index.paths.empty()) {
    shard.paths.assign(index.paths.empty() ? 0 : shard.rows(), "");
  }
  for (size_t i = 0; i < shard.row_groups.size(); ++i) {
    const int64_t rows = shard.row_groups[i].rows;
    if (rows == 0) continue;
    index.groups.push_back({.shard = static_cast<size_t>(file.number),
                            .number = static_cast<int64_t>(i),
                            .first = info.size,
                            .rows = rows,
                            .bytes = shard.row_groups[i].bytes});
    info.units.push_back(info.size);
    info.size += rows;
  }
  info.stored_bytes += file.file->size();
  std::ranges::copy(shard.labels, std::back_inserter(info.labels));
  std::ranges::move(shard.paths, std::back_inserter(index.paths));
  if (shard.rows() > 0) info.class_names = std::move(shard.class_names);
  if (info.unused_labels.empty()) return;
  info.labels.clear();
  info.class_names.clear();
}

std::string KindOf(const ParquetFiles& files) {
  std::string kind = files.paths.size() == 1
                         ? "a Parquet file"
                         : absl::StrCat(files.paths.size(), " Parquet shards");
  if (files.split.empty()) return kind;
  return kind + SplitText(files.split, files.other_splits);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageStore>> OpenParquet(
    const Location& at, DataWorkerPool::Starter start, int64_t cache_bytes) {
  GANDEM_ASSIGN_OR_RETURN(const ParquetFiles files, FindParquetFiles(at));
  SourceInfo info = {
      .kind = KindOf(files), .reads_whole_units = true, .units = {}};
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
    AddShard(index.shards[i], std::move(opened[i]), info, index);
  }
  if (info.size == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", at.Shown(), "' has no rows: there is nothing to train on"));
  }
  // The cache must hold at least the largest row group, because its images are
  // read one by one.
  for (const RowGroupPlace& group : index.groups) {
    cache_bytes = std::max(cache_bytes, group.bytes);
  }
  return std::make_unique<ParquetImages>(std::move(info), std::move(index),
                                         std::move(workers), cache_bytes);
}

SourceKind ParquetSourceKind() {
  return {.name =
              "Parquet (a file, its folder, or "
              "name-{00000..00004}-of-00005.parquet)",
          .recognizes = LooksLikeParquet,
          .open = [](const Location& at, const SourceOptions& options) {
            return OpenParquet(at, StartDataWorker, options.unit_bytes);
          }};
}

}  // namespace gandem
