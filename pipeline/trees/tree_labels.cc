// SPDX-License-Identifier: Apache-2.0
#include "pipeline/trees/tree_labels.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "pipeline/dataset.h"
#include "pipeline/formats/label_files.h"
#include "pipeline/trees/tree_names.h"

namespace gandem {
namespace {

constexpr int64_t kMaxLabelFileBytes = int64_t{1} << 30;
constexpr size_t kMaxClsBytes = 64;

// A file with the labels of many images.
struct LabelFile {
  const char* name;
  absl::StatusOr<LabelTexts> (*parse)(absl::string_view text);
  bool always;  // even without labels: stop the search
};
constexpr LabelFile kLabelFiles[] = {
    {"dataset.json", ParseDatasetJson, true},
    {"labels.csv", ParseLabelsCsv, true},
    {"metadata.jsonl", ParseMetadataJsonl, false},
    {"metadata.csv", ParseMetadataCsv, false},
};

TreeLabels Unused(std::string why) { return {.unused = std::move(why)}; }

class LabelFinder {
 public:
  // The labels; nullopt: the search continues.
  using Found = absl::StatusOr<std::optional<TreeLabels>>;

  LabelFinder(const FileTree& tree, const std::vector<int64_t>& images)
      : tree_(tree),
        images_(images),
        folder_(CommonFolder(tree, images)),
        units_(tree.info().units) {}

  absl::StatusOr<TreeLabels> Find() const {
    for (const LabelFile& kind : kLabelFiles) {
      GANDEM_ASSIGN_OR_RETURN(auto found, FromFiles(kind));
      if (found.has_value()) return *std::move(found);
    }
    GANDEM_ASSIGN_OR_RETURN(auto numbers, FromCls());
    if (numbers.has_value()) return *std::move(numbers);
    GANDEM_ASSIGN_OR_RETURN(auto fields, FromJson());
    if (fields.has_value()) return *std::move(fields);
    return FromFolders();
  }

 private:
  const std::string& NameOf(int64_t image) const {
    return tree_.files()[images_[image]].name;
  }
  int64_t size() const { return std::ssize(images_); }

  size_t UnitOf(int64_t file) const {
    return std::ranges::upper_bound(units_, file) - units_.begin() - 1;
  }
  std::optional<int64_t> FindIn(size_t unit, absl::string_view name) const {
    const std::vector<TreeFile>& files = tree_.files();
    const auto end = unit + 1 < units_.size() ? files.begin() + units_[unit + 1]
                                              : files.end();
    const auto found =
        std::lower_bound(files.begin() + units_[unit], end, name,
                         [](const TreeFile& file, absl::string_view wanted) {
                           return absl::string_view(file.name) < wanted;
                         });
    if (found == end || found->name != name) return std::nullopt;
    return found - files.begin();
  }

  // Converts one label text per image to numbers.
  static TreeLabels Numbered(const LabelNumbers& numbers,
                             const std::vector<std::string>& texts) {
    TreeLabels labels = {.class_names = numbers.class_names()};
    for (const std::string& text : texts) {
      labels.labels.push_back(numbers.NumberOf(text));
    }
    return labels;
  }

  // Reads the labels of one file. Sets `why` if they cannot be used.
  absl::StatusOr<LabelTexts> ReadLabelFile(const LabelFile& kind, int64_t file,
                                           std::string& why) const {
    const std::string where = tree_.NameOf(file);
    if (tree_.files()[file].bytes > kMaxLabelFileBytes) {
      why =
          absl::StrCat(where, " has more than ", kMaxLabelFileBytes, " bytes");
      return LabelTexts();
    }
    GANDEM_ASSIGN_OR_RETURN(const std::string text, tree_.Read(file));
    absl::StatusOr<LabelTexts> found = kind.parse(text);
    if (found.ok()) return found;
    why = absl::StrCat(where, ": ", found.status().message());
    return LabelTexts();
  }

  Found FromFiles(const LabelFile& kind) const {
    std::vector<std::optional<int64_t>> files;  // one per unit
    std::vector<LabelTexts> labels(units_.size());
    std::vector<std::string> classes;
    std::string why;
    bool any = false;
    for (size_t unit = 0; unit < units_.size() && why.empty(); ++unit) {
      files.push_back(FindIn(unit, folder_ + kind.name));
      if (!files[unit].has_value()) files[unit] = FindIn(unit, kind.name);
      if (!files[unit].has_value()) continue;
      any = true;
      GANDEM_ASSIGN_OR_RETURN(labels[unit],
                              ReadLabelFile(kind, *files[unit], why));
      for (const auto& [name, text] : labels[unit]) classes.push_back(text);
    }
    if (!why.empty()) return Unused(why);
    if (classes.empty()) {
      return any && kind.always ? std::optional(TreeLabels()) : std::nullopt;
    }
    std::vector<std::string> texts;
    for (int64_t i = 0; i < size(); ++i) {
      const size_t unit = UnitOf(images_[i]);
      if (!files[unit].has_value()) {
        return Unused(absl::StrCat(tree_.NameOf(images_[i]), " has no ",
                                   kind.name, " in its archive, and other ",
                                   "archives have one"));
      }
      const std::string* const text =
          TextFor(NameOf(i), tree_.files()[*files[unit]].name, labels[unit]);
      if (text == nullptr) return Unused(NoLabelFor(i, *files[unit]));
      texts.push_back(*text);
    }
    return Numbered(LabelNumbers(std::move(classes)), texts);
  }

  // Names are relative to the label file's folder. Null: no label.
  static const std::string* TextFor(const std::string& image,
                                    absl::string_view file,
                                    const LabelTexts& labels) {
    const std::string name = image.substr(FolderOf(file).size());
    auto label = labels.find(name);
    if (label == labels.end()) {  // as written on Windows
      label = labels.find(absl::StrReplaceAll(name, {{"/", "\\"}}));
    }
    return label == labels.end() ? nullptr : &label->second;
  }
  std::string NoLabelFor(int64_t image, int64_t file) const {
    const size_t base = FolderOf(tree_.files()[file].name).size();
    return absl::StrCat(tree_.NameOf(file), " has no label for '",
                        NameOf(image).substr(base),
                        "': give every image one, or remove the image");
  }

  // Returns the label file of an image: a.b.cls for a.b.jpg, or else a.cls.
  std::optional<int64_t> Beside(int64_t image, absl::string_view ending) const {
    const absl::string_view name = NameOf(image);
    const size_t unit = UnitOf(images_[image]);
    const auto own =
        FindIn(unit, absl::StrCat(name.substr(0, name.rfind('.')), ending));
    return own.has_value() ? own
                           : FindIn(unit, absl::StrCat(SampleOf(name), ending));
  }
  std::string NoneBeside(int64_t image, absl::string_view ending) const {
    return absl::StrCat(tree_.NameOf(images_[image]), " has no file ", ending,
                        " beside it, and other images have: give all images a "
                        "label, or none");
  }

  Found FromCls() const {
    const bool any =
        std::ranges::any_of(tree_.files(), [](const TreeFile& file) {
          return absl::EndsWith(file.name, ".cls") && !IsHiddenName(file.name);
        });
    if (!any) return std::nullopt;
    TreeLabels labels;
    for (int64_t i = 0; i < size(); ++i) {
      const std::optional<int64_t> cls = Beside(i, ".cls");
      if (!cls.has_value()) return Unused(NoneBeside(i, ".cls"));
      GANDEM_ASSIGN_OR_RETURN(const std::string text, tree_.Read(*cls));
      int64_t label = -1;
      if (text.size() > kMaxClsBytes ||
          !absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &label) ||
          label < 0 || label > kMaxLabel) {
        return Unused(absl::StrCat(tree_.NameOf(*cls),
                                   ": expected a whole number in [0, ",
                                   kMaxLabel, "]"));
      }
      labels.labels.push_back(label);
    }
    return labels;
  }

  // If the first JSON file has no label, the files are about something else.
  Found FromJson() const {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < size(); ++i) {
      const std::optional<int64_t> json = Beside(i, ".json");
      if (!json.has_value()) {
        if (i == 0) return std::nullopt;
        return Unused(NoneBeside(i, ".json"));
      }
      GANDEM_ASSIGN_OR_RETURN(const std::string text, tree_.Read(*json));
      auto label = ParseSampleJson(text);
      if (label.ok() && label->empty()) {
        if (i == 0) return std::nullopt;
        label = absl::InvalidArgumentError(
            "it has no label, and those of other images have");
      }
      if (!label.ok()) {
        return Unused(
            absl::StrCat(tree_.NameOf(*json), ": ", label.status().message()));
      }
      texts.push_back(*std::move(label));
    }
    TreeLabels labels = Numbered(LabelNumbers(texts), texts);
    labels.from_json = true;
    return labels;
  }

  TreeLabels FromFolders() const {
    std::vector<std::string> folders;
    for (int64_t i = 0; i < size(); ++i) {
      const std::string inside = NameOf(i).substr(folder_.size());
      const size_t slash = inside.find('/');
      if (slash == std::string::npos) return TreeLabels();  // no subfolder
      folders.push_back(inside.substr(0, slash));
    }
    return Numbered(LabelNumbers(folders, /*are_names=*/true), folders);
  }

  const FileTree& tree_;
  const std::vector<int64_t>& images_;
  const std::string folder_;  // common folder of all images
  const std::vector<int64_t> units_;
};

TreeLabels OfImages(const TreeLabels& known,
                    const std::vector<int64_t>& images) {
  TreeLabels labels = {.class_names = known.class_names};
  if (known.labels.empty()) return labels;
  for (const int64_t image : images) {
    labels.labels.push_back(known.labels[image]);
  }
  return labels;
}

}  // namespace

absl::StatusOr<TreeLabels> FindTreeLabels(const FileTree& tree,
                                          const std::vector<int64_t>& images) {
  const std::optional<TreeLabels>& known = tree.info().labels;
  if (known.has_value()) return OfImages(*known, images);
  return LabelFinder(tree, images).Find();
}

std::string CommonFolder(const FileTree& tree,
                         const std::vector<int64_t>& images) {
  std::string common(FolderOf(tree.files()[images[0]].name));
  for (const int64_t image : images) {
    while (!absl::StartsWith(tree.files()[image].name, common)) {
      common.pop_back();  // the trailing '/'
      common.resize(FolderOf(common).size());
    }
  }
  return common;
}

}  // namespace gandem
