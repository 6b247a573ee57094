// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/formats/tar.h"
#include "pipeline/formats/tar_index.h"
#include "pipeline/in_parallel.h"
#include "pipeline/random_access_file.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

constexpr int64_t kMaxShards = 1'000'000;
// More are opened for each image.
constexpr int64_t kMostOpenShards = 256;
// Remote ones that are listed at a time, by many small reads each.
constexpr int64_t kMostRemoteLists = 16;

class TarTree : public FileTree {
 public:
  using Shard = std::shared_ptr<const RandomAccessFile>;

  explicit TarTree(const std::string& path) : path_(ShownUrl(path)) {}

  // In the order of names: an archive made by another program, or from a folder
  // in whatever order the system lists it, gives the same images.
  void Add(Shard shard, TarListing listing) {
    AddUnused(listing.unused, unused_);
    std::ranges::stable_sort(listing.members, {}, &TarMember::name);
    for (TarMember& member : listing.members) {
      files_.push_back({.name = std::move(member.name), .bytes = member.size});
      places_.push_back({.shard = shards_.size(), .offset = member.offset});
    }
    shards_.push_back(std::move(shard));
  }

  // False: its classes are not those of the shards before.
  bool AddIndexed(Shard shard, TarIndex index) {
    std::ranges::stable_sort(index.files, {}, &IndexedFile::name);
    if (!labels_.has_value()) {
      labels_ = TreeLabels{.class_names = index.class_names};
    }
    for (IndexedFile& file : index.files) {
      files_.push_back({.name = std::move(file.name), .bytes = file.size});
      places_.push_back({.shard = shards_.size(),
                         .offset = file.offset,
                         .crc32c = file.crc32c});
      if (file.label >= 0) labels_->labels.push_back(file.label);
    }
    shards_.push_back(std::move(shard));
    const bool all_or_none =
        labels_->labels.empty() || labels_->labels.size() == files_.size();
    return all_or_none && labels_->class_names == index.class_names;
  }

  const TreeLabels* KnownLabels() const override {
    return labels_.has_value() ? &*labels_ : nullptr;
  }
  bool has_samples() const override { return !labels_.has_value(); }
  std::string kind() const override {
    return shards_.size() == 1
               ? "a tar of images"
               : absl::StrCat(shards_.size(), " tar shards of images");
  }
  const std::string& path() const override { return path_; }
  const std::vector<TreeFile>& files() const override { return files_; }
  std::string NameOf(int64_t file) const override {
    return absl::StrCat(shards_[places_[file].shard]->name(), ":",
                        files_[file].name);
  }
  std::vector<int64_t> Units() const override {
    std::vector<int64_t> firsts = {0};
    for (size_t i = 1; i < places_.size(); ++i) {
      if (places_[i].shard != places_[i - 1].shard) {
        firsts.push_back(static_cast<int64_t>(i));
      }
    }
    return firsts;
  }
  // Shards may use the same names.
  std::string KeyOf(int64_t file) const override {
    const std::string& name = files_[file].name;
    if (shards_.size() == 1) return name;
    const std::string& shard = shards_[places_[file].shard]->name();
    return absl::StrCat(shard.substr(shard.rfind('/') + 1), ":", name);
  }
  UnusedFiles unused() const override { return unused_; }
  absl::StatusOr<std::string> ReadStart(int64_t file,
                                        int64_t size) const override {
    return shards_[places_[file].shard]->Read(
        places_[file].offset, std::min(size, files_[file].bytes));
  }
  absl::StatusOr<std::string> Read(int64_t file) const override {
    const Place& place = places_[file];
    auto bytes = shards_[place.shard]->Read(place.offset, files_[file].bytes);
    if (!bytes.ok()) return Annotate(bytes.status(), NameOf(file));
    if (place.crc32c.has_value() && TextCrc32c(*bytes) != *place.crc32c) {
      return absl::DataLossError(absl::StrCat(
          NameOf(file), ": not the bytes that were packed (its CRC32C is ",
          "another one): copy the shard again, or pack the images again"));
    }
    return bytes;
  }

 private:
  struct Place {
    size_t shard = 0;
    int64_t offset = 0;
    std::optional<uint32_t> crc32c = {};  // of an index
  };

  // Never change after OpenTarTree.
  std::string path_;
  std::vector<Shard> shards_;
  std::vector<TreeFile> files_;
  std::vector<Place> places_;         // of files_
  std::optional<TreeLabels> labels_;  // of indexes
  UnusedFiles unused_;
};

absl::Status MixedIndexes(const std::string& shard) {
  return absl::DataLossError(absl::StrCat(
      "'", shard, "' has no index, or another kind of it than the shards ",
      "before: they are not of one `gandem dataset pack`"));
}

struct ListedTar {
  TarTree::Shard shard;
  std::optional<TarIndex> index = {};
  TarListing contents = {};  // where there is no index
};

// `indexed`: whether the first shard has an index, and so all must have; left
// out: this is the first.
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

absl::Status AddShard(TarTree& tree, ListedTar listed) {
  if (!listed.index.has_value()) {
    tree.Add(std::move(listed.shard), std::move(listed.contents));
    return absl::OkStatus();
  }
  const std::string name = listed.shard->name();
  return tree.AddIndexed(std::move(listed.shard), *std::move(listed.index))
             ? absl::OkStatus()
             : MixedIndexes(name);
}

absl::Status BadRange(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", ShownUrl(path),
      "': expected one range of numbers in braces, the smaller one "
      "first and as many digits as in the names, as in "
      "name-{000000..000009}.tar"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandShards(const std::string& path) {
  const size_t open = path.find('{');
  if (open == std::string::npos) return std::vector<std::string>{path};
  const size_t close = path.find('}', open);
  const size_t dots = path.find("..", open);
  if (close == std::string::npos || dots > close ||
      path.find('{', open + 1) != std::string::npos) {
    return BadRange(path);
  }
  const std::string first_text = path.substr(open + 1, dots - open - 1);
  const std::string last_text = path.substr(dots + 2, close - dots - 2);
  int64_t first = 0;
  int64_t last = 0;
  if (!absl::SimpleAtoi(first_text, &first) ||
      !absl::SimpleAtoi(last_text, &last) || first < 0 || last < first ||
      last - first >= kMaxShards) {
    return BadRange(path);
  }
  std::vector<std::string> paths;
  for (int64_t number = first; number <= last; ++number) {
    paths.push_back(absl::StrCat(
        path.substr(0, open),
        absl::StrFormat("%0*d", static_cast<int>(first_text.size()), number),
        path.substr(close + 1)));
  }
  return paths;
}

absl::StatusOr<std::unique_ptr<FileTree>> OpenTarTree(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                          ExpandShards(path));
  auto tree = std::make_unique<TarTree>(path);
  const bool many = std::ssize(paths) > kMostOpenShards;
  GANDEM_ASSIGN_OR_RETURN(ListedTar first,
                          ListShard(paths.front(), many, std::nullopt));
  const bool indexed = first.index.has_value();
  GANDEM_RETURN_IF_ERROR(AddShard(*tree, std::move(first)));
  GANDEM_ASSIGN_OR_RETURN(
      std::vector<ListedTar> others,
      MakeInParallel<ListedTar>(
          std::ssize(paths) - 1, IsUrl(path) ? kMostRemoteLists : 1,
          [&](int64_t i) { return ListShard(paths[i + 1], many, indexed); }));
  for (ListedTar& other : others) {
    GANDEM_RETURN_IF_ERROR(AddShard(*tree, std::move(other)));
  }
  return tree;
}

}  // namespace gandem
