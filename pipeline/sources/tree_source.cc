// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/tree_source.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/image_store.h"
#include "pipeline/sources/encoded_store.h"
#include "pipeline/sources/survey.h"
#include "pipeline/trees/tree_choice.h"
#include "pipeline/trees/tree_labels.h"
#include "pipeline/trees/tree_names.h"
#include "pipeline/unreadable.h"

namespace gandem {
namespace {

// Files inspected per unknown ending.
constexpr int64_t kMostFirstLooks = 16;

absl::string_view NameInFolder(absl::string_view path) {
  return path.substr(FolderOf(path).size());
}

// Returns whether a file contains only labels (see tree_labels.h).
bool IsLabelFile(absl::string_view name) {
  const absl::string_view file = NameInFolder(name);
  return absl::EndsWith(file, ".cls") || file == "dataset.json" ||
         file == "labels.csv" || file == "metadata.csv" ||
         file == "metadata.jsonl";
}

// Returns the lower-case ending such as ".txt"; "" if it is no file type.
std::string EndingOf(absl::string_view name) {
  constexpr size_t kLongestEnding = 12;
  const absl::string_view file = NameInFolder(name);
  const size_t point = file.rfind('.');
  if (point == absl::string_view::npos) return "";
  const absl::string_view ending = file.substr(point);
  const bool is_word = std::ranges::any_of(ending, absl::ascii_isalpha);
  return is_word && ending.size() <= kLongestEnding
             ? absl::AsciiStrToLower(ending)
             : "";
}

absl::StatusOr<bool> BeginsAsImage(const FileTree& tree, int64_t file) {
  constexpr int64_t kMagicBytes = 16;
  const auto start = tree.ReadStart(file, kMagicBytes);
  if (start.ok()) return !ImageEnding(*start).empty();
  if (IsUnreadable(start.status())) return false;
  return start.status();
}

// Finds images among files with the same ending by their first bytes. Inspects
// a few evenly spaced files; if all or none are images, assumes the same for
// the rest, because an S3 bucket needs a request per file.
absl::StatusOr<std::vector<int64_t>> ImagesAmong(
    const FileTree& tree, const std::vector<int64_t>& files) {
  const std::vector<int64_t> places =
      SpreadPlaces(std::ssize(files), kMostFirstLooks);
  int64_t found = 0;
  for (const int64_t place : places) {
    GANDEM_ASSIGN_OR_RETURN(const bool is_image,
                            BeginsAsImage(tree, files[place]));
    if (is_image) ++found;
  }
  if (found == std::ssize(places)) return files;
  std::vector<int64_t> images;
  if (found == 0) return images;
  for (const int64_t file : files) {
    GANDEM_ASSIGN_OR_RETURN(const bool is_image, BeginsAsImage(tree, file));
    if (is_image) images.push_back(file);
  }
  return images;
}

// Files that are images by name or by first bytes.
struct ImageFiles {
  std::vector<int64_t> images = {};  // increasing indices in tree.files()
  UnusedFiles unused = {};           // including those of the tree
};

absl::StatusOr<ImageFiles> FindImageFiles(const FileTree& tree) {
  ImageFiles files = {.unused = tree.info().unused};
  std::map<std::string, std::vector<int64_t>> others;  // by ending
  for (int64_t i = 0; i < std::ssize(tree.files()); ++i) {
    const std::string& name = tree.files()[i].name;
    if (IsHiddenName(name)) {
      ++files.unused["hidden"];
    } else if (IsImageName(name) || IsOtherImageName(name)) {
      // The decoder and the policy for unreadable images handle other formats.
      files.images.push_back(i);
    } else if (!IsLabelFile(name)) {
      others[EndingOf(name)].push_back(i);
    }
  }
  for (const auto& [ending, places] : others) {
    GANDEM_ASSIGN_OR_RETURN(const std::vector<int64_t> images,
                            ImagesAmong(tree, places));
    files.images.insert(files.images.end(), images.begin(), images.end());
    const int64_t rest = std::ssize(places) - std::ssize(images);
    if (rest > 0) files.unused[ending.empty() ? "no ending" : ending] += rest;
  }
  std::ranges::sort(files.images);
  return files;
}

class TreeSource : public EncodedStore {
 public:
  TreeSource(SourceInfo info, std::unique_ptr<FileTree> tree,
             std::vector<int64_t> images)
      : EncodedStore(std::move(info)),
        tree_(std::move(tree)),
        images_(std::move(images)) {}

  std::string NameOf(int64_t index) const override {
    return tree_->NameOf(images_[index]);
  }
  std::string KeyOf(int64_t index) const override {
    return tree_->KeyOf(images_[index]);
  }
  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    return tree_->Read(images_[index]);
  }

 private:
  // Never change after construction.
  const std::unique_ptr<FileTree> tree_;
  const std::vector<int64_t> images_;  // indices in tree_->files()
};

// Returns the first image of each archive that has images.
std::vector<int64_t> UnitsOf(const FileTree& tree,
                             const std::vector<int64_t>& images) {
  std::vector<int64_t> firsts;
  for (const int64_t file : tree.info().units) {
    const int64_t image =
        std::ranges::lower_bound(images, file) - images.begin();
    if (image == std::ssize(images)) break;
    if (firsts.empty() || firsts.back() != image) firsts.push_back(image);
  }
  return firsts;
}

absl::Status NoImages(const FileTree& tree, const UnusedFiles& unused) {
  std::string found = "it is empty";
  if (!unused.empty()) {
    found = absl::StrCat("found ", CountsText({unused.begin(), unused.end()}));
  } else if (!tree.files().empty()) {
    found = "found labels";
  }
  if (!tree.files().empty()) {
    absl::StrAppend(&found, ", such as '", tree.files()[0].name, "'");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", tree.path(), "' holds no images: expected PNG, JPEG or WebP files, ",
      found));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageStore>> OpenTreeImages(
    std::unique_ptr<FileTree> tree, absl::string_view member) {
  GANDEM_ASSIGN_OR_RETURN(ImageFiles files, FindImageFiles(*tree));
  std::vector<int64_t>& images = files.images;
  if (images.empty()) return NoImages(*tree, files.unused);
  GANDEM_ASSIGN_OR_RETURN(const std::string split,
                          KeepTrainSplit(*tree, images));
  GANDEM_ASSIGN_OR_RETURN(const std::string which,
                          KeepMember(*tree, member, images));
  GANDEM_ASSIGN_OR_RETURN(TreeLabels labels, FindTreeLabels(*tree, images));
  if (labels.from_json) files.unused.erase(".json");
  SourceInfo info = {.kind = absl::StrCat(tree->info().kind, split, which),
                     .size = std::ssize(images),
                     .unused = std::move(files.unused),
                     .labels = std::move(labels.labels),
                     .class_names = std::move(labels.class_names),
                     .unused_labels = std::move(labels.unused),
                     .units = UnitsOf(*tree, images)};
  for (const int64_t image : images) {
    info.stored_bytes += tree->files()[image].bytes;
  }
  return std::make_unique<TreeSource>(std::move(info), std::move(tree),
                                      std::move(images));
}

}  // namespace gandem
