// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/image_files.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/status.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/sources/survey.h"
#include "pipeline/trees/tree_names.h"
#include "pipeline/unreadable.h"

namespace gandem {
namespace {

// Files of unknown names that are looked into, of each ending.
constexpr int64_t kMostFirstLooks = 16;

absl::string_view NameInFolder(absl::string_view path) {
  return path.substr(FolderOf(path).size());
}

// Files that only say labels. tree_labels.h finds out whether they are used.
bool IsLabelFile(absl::string_view name) {
  const absl::string_view file = NameInFolder(name);
  return absl::EndsWith(file, ".cls") || file == "dataset.json" ||
         file == "labels.csv" || file == "metadata.csv" ||
         file == "metadata.jsonl";
}

// ".txt", in lower case; "" where the name has none that could say what the
// file is.
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

// The images among files whose names have the same ending, by their first
// bytes. Where some files, evenly spread, are all images or none is, so are the
// others: a bucket needs a request for each.
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

}  // namespace

absl::StatusOr<ImageFiles> FindImageFiles(const FileTree& tree) {
  ImageFiles files = {.unused = tree.unused()};
  std::map<std::string, std::vector<int64_t>> others;  // by their endings
  for (int64_t i = 0; i < std::ssize(tree.files()); ++i) {
    const std::string& name = tree.files()[i].name;
    if (IsHiddenName(name)) {
      ++files.unused["hidden"];
    } else if (IsImageName(name) || IsOtherImageName(name)) {
      // The decoder names each image of a format that gandem does not read, and
      // the policy for unreadable images applies to it.
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

}  // namespace gandem
