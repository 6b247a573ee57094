// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/crc32c.h"
#include "common/status.h"
#include "pipeline/formats/tar.h"
#include "pipeline/formats/tar_index.h"
#include "pipeline/in_parallel.h"
#include "pipeline/random_access_file.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

// Larger sources reopen their shards for each image.
constexpr int64_t kMostOpenShards = 256;
// Remote shards listed concurrently, each with many small reads.
constexpr int64_t kMostRemoteLists = 16;

using TarShard = std::shared_ptr<const RandomAccessFile>;

struct TarPlace {
  size_t shard = 0;
  int64_t offset = 0;
  std::optional<uint32_t> crc32c = {};  // from an index
};

class TarTree : public FileTree {
 public:
  TarTree(TreeInfo info, std::vector<TarShard> shards,
          std::vector<TarPlace> places)
      : FileTree(std::move(info)),
        shards_(std::move(shards)),
        places_(std::move(places)) {}

  std::string NameOf(int64_t file) const override {
    return absl::StrCat(ShardOf(file).name(), ":", files()[file].name);
  }
  // Adds the shard's name, since shards may use the same names.
  std::string KeyOf(int64_t file) const override {
    const std::string& name = files()[file].name;
    if (shards_.size() == 1) return name;
    const std::string& shard = ShardOf(file).name();
    return absl::StrCat(shard.substr(shard.rfind('/') + 1), ":", name);
  }
  absl::StatusOr<std::string> ReadStart(int64_t file,
                                        int64_t size) const override {
    return ShardOf(file).Read(places_[file].offset,
                              std::min(size, files()[file].bytes));
  }
  absl::StatusOr<std::string> Read(int64_t file) const override {
    auto bytes = ReadStart(file, files()[file].bytes);
    if (!bytes.ok()) return Annotate(bytes.status(), NameOf(file));
    const std::optional<uint32_t>& crc32c = places_[file].crc32c;
    if (crc32c.has_value() && TextCrc32c(*bytes) != *crc32c) {
      return absl::DataLossError(absl::StrCat(
          NameOf(file), ": not the bytes that were packed (its CRC32C is ",
          "another one): copy the shard again, or pack the images again"));
    }
    return bytes;
  }

 private:
  const RandomAccessFile& ShardOf(int64_t file) const {
    return *shards_[places_[file].shard];
  }

  // Never change after construction.
  const std::vector<TarShard> shards_;
  const std::vector<TarPlace> places_;  // of files()
};

absl::Status MixedIndexes(const std::string& shard) {
  return absl::DataLossError(absl::StrCat(
      "'", shard, "' has no index, or another kind of it than the shards ",
      "before: they are not of one `gandem dataset pack`"));
}

struct ListedTar {
  TarShard shard;
  std::optional<TarIndex> index = {};
  TarListing contents = {};  // if there is no index
};

// `indexed`: whether the first shard has an index, and therefore all must;
// nullopt: this is the first shard.
absl::StatusOr<ListedTar> ListShard(const std::string& path, bool on_demand,
                                    std::optional<bool> indexed) {
  GANDEM_ASSIGN_OR_RETURN(const auto file, OpenFile(path));
  ListedTar listed = {.shard = file};
  if (indexed.value_or(true)) {
    GANDEM_ASSIGN_OR_RETURN(listed.index, ReadTarIndex(*file));
    if (indexed.has_value() && !listed.index.has_value()) {
      return MixedIndexes(file->name());
    }
  }
  if (!listed.index.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(listed.contents, ListTar(*file));
  }
  if (on_demand) {
    GANDEM_ASSIGN_OR_RETURN(listed.shard, OpenFileOnDemand(path));
  }
  return listed;
}

// Concatenates shards.
struct TarBuilder {
  TreeInfo info = {};
  std::vector<TarShard> shards = {};
  std::vector<TarPlace> places = {};

  void AddFile(std::string name, int64_t bytes, TarPlace place) {
    if (places.empty() || places.back().shard != place.shard) {
      info.units.push_back(std::ssize(places));
    }
    info.files.push_back({.name = std::move(name), .bytes = bytes});
    places.push_back(place);
  }

  // Adds files in order of their names, so that archives with another order
  // have the same images in the same order.
  absl::Status Add(ListedTar listed) {
    const size_t shard = shards.size();
    shards.push_back(std::move(listed.shard));
    if (listed.index.has_value()) return AddIndexed(shard, *listed.index);
    AddUnused(listed.contents.unused, info.unused);
    std::ranges::stable_sort(listed.contents.members, {}, &TarMember::name);
    for (TarMember& member : listed.contents.members) {
      AddFile(std::move(member.name), member.size,
              {.shard = shard, .offset = member.offset});
    }
    return absl::OkStatus();
  }

  // All shards must have the same classes, and all or none have labels.
  absl::Status AddIndexed(size_t shard, TarIndex& index) {
    if (!info.labels.has_value()) {
      info.labels = TreeLabels{.class_names = index.class_names};
    }
    std::ranges::stable_sort(index.files, {}, &IndexedFile::name);
    std::vector<int64_t>& labels = info.labels->labels;
    for (IndexedFile& file : index.files) {
      if (file.label >= 0) labels.push_back(file.label);
      AddFile(std::move(file.name), file.size,
              {.shard = shard, .offset = file.offset, .crc32c = file.crc32c});
    }
    const bool fits = (labels.empty() || labels.size() == places.size()) &&
                      info.labels->class_names == index.class_names;
    return fits ? absl::OkStatus() : MixedIndexes(shards.back()->name());
  }
};

}  // namespace

OpenedTree OpenTarTree(const Location& at) {
  const bool many = std::ssize(at.files) > kMostOpenShards;
  TarBuilder tree;
  tree.info = {.path = at.Shown(), .units = {}};
  GANDEM_ASSIGN_OR_RETURN(ListedTar first,
                          ListShard(at.files.front(), many, std::nullopt));
  const bool indexed = first.index.has_value();
  GANDEM_RETURN_IF_ERROR(tree.Add(std::move(first)));
  GANDEM_ASSIGN_OR_RETURN(std::vector<ListedTar> others,
                          MakeInParallel<ListedTar>(
                              std::ssize(at.files) - 1,
                              at.is_url ? kMostRemoteLists : 1, [&](int64_t i) {
                                return ListShard(at.files[i + 1], many,
                                                 indexed);
                              }));
  for (ListedTar& other : others) {
    GANDEM_RETURN_IF_ERROR(tree.Add(std::move(other)));
  }
  tree.info.kind =
      tree.shards.size() == 1
          ? "a tar of images"
          : absl::StrCat(tree.shards.size(), " tar shards of images");
  tree.info.has_samples = !indexed;
  if (tree.info.units.empty()) tree.info.units = {0};
  return std::make_unique<TarTree>(std::move(tree.info), std::move(tree.shards),
                                   std::move(tree.places));
}

}  // namespace gandem
