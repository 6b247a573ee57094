// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/tree_source.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/encoded_store.h"
#include "pipeline/sources/image_files.h"
#include "pipeline/sources/survey.h"
#include "pipeline/trees/tree_choice.h"
#include "pipeline/trees/tree_labels.h"

namespace gandem {
namespace {

class TreeSource : public EncodedStore {
 public:
  TreeSource(std::unique_ptr<FileTree> tree, ImageFiles files,
             TreeLabels labels, std::string choice)
      : tree_(std::move(tree)),
        images_(std::move(files.images)),
        unused_(std::move(files.unused)),
        labels_(std::move(labels)),
        choice_(std::move(choice)) {}

  std::string kind() const override { return tree_->kind() + choice_; }
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
  std::string unused_labels() const override { return labels_.unused; }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    return tree_->Read(images_[index]);
  }
  absl::StatusOr<std::optional<std::string>> FetchStart(
      int64_t index, int64_t most) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    if (IsUrl(tree_->path())) return std::nullopt;
    return tree_->ReadStart(images_[index], most);
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
  const std::string choice_;  // which of its images these are
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
    std::unique_ptr<FileTree> tree, absl::string_view member) {
  GANDEM_ASSIGN_OR_RETURN(ImageFiles files, FindImageFiles(*tree));
  if (files.images.empty()) return NoImages(*tree, files.unused);
  GANDEM_ASSIGN_OR_RETURN(std::string choice,
                          KeepTrainSplit(*tree, files.images));
  GANDEM_ASSIGN_OR_RETURN(const std::string which,
                          KeepMember(*tree, member, files.images));
  choice += which;
  GANDEM_ASSIGN_OR_RETURN(TreeLabels labels,
                          FindTreeLabels(*tree, files.images));
  if (labels.from_json) files.unused.erase(".json");
  return std::make_unique<TreeSource>(std::move(tree), std::move(files),
                                      std::move(labels), std::move(choice));
}

}  // namespace gandem
