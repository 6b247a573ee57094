// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/tree_source.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/dataset.h"
#include "pipeline/formats/label_files.h"
#include "pipeline/sources/encoded_store.h"
#include "pipeline/sources/image_files.h"
#include "pipeline/sources/survey.h"

namespace gandem {
namespace {

constexpr int64_t kMaxLabelFileBytes = int64_t{1} << 30;
constexpr size_t kMaxClsBytes = 64;

// Up to the last '/', which belongs to it.
absl::string_view FolderOf(absl::string_view name) {
  return name.substr(0, name.rfind('/') + 1);
}

// WebDataset's: up to the first point of the file's name.
absl::string_view SampleOf(absl::string_view name) {
  return name.substr(0, name.find('.', FolderOf(name).size()));
}

// Finds out the labels of `images`, which are places in tree.files(): the
// result's are in their order.
class LabelFinder {
 public:
  LabelFinder(const FileTree& tree, const std::vector<int64_t>& images)
      : tree_(tree), images_(images), folder_(CommonFolder()) {}

  absl::StatusOr<TreeLabels> Find() const {
    if (const TreeLabels* const known = tree_.KnownLabels()) {
      return OfImages(*known);
    }
    if (const auto json = FindFile("dataset.json")) {
      return FromFile(*json, ParseDatasetJson);
    }
    if (const auto csv = FindFile("labels.csv")) {
      return FromFile(*csv, ParseLabelsCsv);
    }
    const bool has_cls = std::ranges::any_of(
        tree_.files(), [](const TreeFile& file) { return IsCls(file.name); });
    return has_cls ? FromCls() : FromFolders();
  }

 private:
  static bool IsCls(absl::string_view name) {
    return absl::EndsWith(name, ".cls") && !IsHiddenName(name);
  }
  const std::string& NameOf(int64_t image) const {
    return tree_.files()[images_[image]].name;
  }
  int64_t size() const { return std::ssize(images_); }

  // Of all images.
  std::string CommonFolder() const {
    std::string common(FolderOf(NameOf(0)));
    for (int64_t i = 1; i < size(); ++i) {
      while (!absl::StartsWith(NameOf(i), common)) {
        common = std::string(
            FolderOf(absl::string_view(common).substr(0, common.size() - 1)));
      }
    }
    return common;
  }

  std::optional<int64_t> FindFile(absl::string_view name) const {
    const auto is_it = [&](const TreeFile& file) {
      return file.name == name || file.name == absl::StrCat(folder_, name);
    };
    const auto found = std::ranges::find_if(tree_.files(), is_it);
    if (found == tree_.files().end()) return std::nullopt;
    return found - tree_.files().begin();
  }

  TreeLabels OfImages(const TreeLabels& known) const {
    TreeLabels labels = {.class_names = known.class_names};
    if (known.labels.empty()) return labels;
    for (const int64_t image : images_) {
      labels.labels.push_back(known.labels[image]);
    }
    return labels;
  }

  absl::StatusOr<TreeLabels> FromFile(
      int64_t file,
      absl::StatusOr<ImageLabels> (*parse)(absl::string_view)) const {
    const std::string where = tree_.NameOf(file);
    if (tree_.files()[file].bytes > kMaxLabelFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, " has more than ", kMaxLabelFileBytes, " bytes"));
    }
    GANDEM_ASSIGN_OR_RETURN(const std::string text, tree_.Read(file));
    absl::StatusOr<ImageLabels> found = parse(text);
    if (!found.ok()) return Annotate(found.status(), where);
    TreeLabels labels = {.class_names = std::move(found->class_names)};
    if (found->by_name.empty()) return labels;
    const size_t base = FolderOf(tree_.files()[file].name).size();
    for (int64_t i = 0; i < size(); ++i) {
      const auto label = found->by_name.find(NameOf(i).substr(base));
      if (label == found->by_name.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(where, " has no label for '", NameOf(i).substr(base),
                         "': give every image one, or remove the image"));
      }
      labels.labels.push_back(label->second);
    }
    return labels;
  }

  // The files of a sample are neighbors, because names are in order.
  std::optional<int64_t> ClsOf(int64_t image) const {
    const std::vector<TreeFile>& files = tree_.files();
    const absl::string_view sample = SampleOf(NameOf(image));
    for (const int64_t step : {-1, 1}) {
      for (int64_t at = images_[image] + step;
           at >= 0 && at < std::ssize(files) &&
           SampleOf(files[at].name) == sample;
           at += step) {
        if (IsCls(files[at].name)) return at;
      }
    }
    return std::nullopt;
  }

  absl::StatusOr<TreeLabels> FromCls() const {
    TreeLabels labels;
    for (int64_t i = 0; i < size(); ++i) {
      const std::optional<int64_t> cls = ClsOf(i);
      if (!cls.has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat(tree_.NameOf(images_[i]),
                         " has no file .cls beside it, and other images have: "
                         "give all images a label, or none"));
      }
      GANDEM_ASSIGN_OR_RETURN(const std::string text, tree_.Read(*cls));
      int64_t label = -1;
      if (text.size() > kMaxClsBytes ||
          !absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &label) ||
          label < 0 || label > kMaxLabel) {
        return absl::InvalidArgumentError(
            absl::StrCat(tree_.NameOf(*cls),
                         ": expected a whole number of [0, ", kMaxLabel, "]"));
      }
      labels.labels.push_back(label);
    }
    return labels;
  }

  absl::StatusOr<TreeLabels> FromFolders() const {
    std::map<std::string, int64_t> classes;
    std::vector<std::string> folders;
    for (int64_t i = 0; i < size(); ++i) {
      const std::string inside = NameOf(i).substr(folder_.size());
      const size_t slash = inside.find('/');
      if (slash == std::string::npos) return TreeLabels();  // not in one
      folders.push_back(inside.substr(0, slash));
      classes[folders.back()] = 0;
    }
    TreeLabels labels;
    for (auto& [name, number] : classes) {
      number = std::ssize(labels.class_names);
      labels.class_names.push_back(name);
    }
    for (const std::string& folder : folders) {
      labels.labels.push_back(classes[folder]);
    }
    return labels;
  }

  const FileTree& tree_;
  const std::vector<int64_t>& images_;
  const std::string folder_;  // in which all images are
};

class TreeSource : public EncodedStore {
 public:
  TreeSource(std::unique_ptr<FileTree> tree, ImageFiles files,
             TreeLabels labels)
      : tree_(std::move(tree)),
        images_(std::move(files.images)),
        unused_(std::move(files.unused)),
        labels_(std::move(labels)) {}

  std::string kind() const override { return tree_->kind(); }
  int64_t size() const override { return std::ssize(images_); }
  UnusedFiles unused() const override { return unused_; }
  std::string NameOf(int64_t index) const override {
    return tree_->NameOf(images_[index]);
  }
  std::string KeyOf(int64_t index) const override {
    return tree_->KeyOf(images_[index]);
  }
  // An archive without images is none.
  std::vector<int64_t> Units() const override {
    std::vector<int64_t> firsts;
    for (const int64_t file : tree_->Units()) {
      const int64_t image =
          std::ranges::lower_bound(images_, file) - images_.begin();
      if (!firsts.empty() && firsts.back() == image) continue;
      if (image < size()) firsts.push_back(image);
    }
    return firsts;
  }
  int64_t stored_bytes() const override {
    int64_t bytes = 0;
    for (const int64_t image : images_) bytes += tree_->files()[image].bytes;
    return bytes;
  }
  int64_t LabelOf(int64_t index) const override {
    return labels_.labels.empty() ? kNoLabel : labels_.labels[index];
  }
  const std::vector<std::string>& class_names() const override {
    return labels_.class_names;
  }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    return tree_->Read(images_[index]);
  }

  absl::StatusOr<std::string> Fingerprint() const override {
    Sha256 hash;
    for (int64_t i = 0; i < size(); ++i) {
      const TreeFile& file = tree_->files()[images_[i]];
      hash.Update(
          absl::StrCat(file.name, " ", file.bytes, " ", LabelOf(i), "\n"));
    }
    const int64_t count = std::min(size(), kFingerprintImages);
    for (int64_t i = 0; i < count; ++i) {
      GANDEM_RETURN_IF_ERROR(HashIfReadable(i * size() / count, hash));
    }
    return hash.Finish();
  }

 private:
  // Never change after construction.
  const std::unique_ptr<FileTree> tree_;
  const std::vector<int64_t> images_;  // places in tree_->files()
  const UnusedFiles unused_;
  const TreeLabels labels_;
};

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
    std::unique_ptr<FileTree> tree) {
  GANDEM_ASSIGN_OR_RETURN(ImageFiles files, FindImageFiles(*tree));
  if (files.images.empty()) return NoImages(*tree, files.unused);
  GANDEM_ASSIGN_OR_RETURN(TreeLabels labels,
                          LabelFinder(*tree, files.images).Find());
  return std::make_unique<TreeSource>(std::move(tree), std::move(files),
                                      std::move(labels));
}

}  // namespace gandem
