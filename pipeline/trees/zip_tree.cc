// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status.h"
#include "pipeline/formats/member_name.h"
#include "pipeline/formats/zip_reader.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

// Of one image file.
constexpr int64_t kMaxZipFileBytes = int64_t{1} << 30;

class ZipTree : public FileTree {
 public:
  static absl::StatusOr<std::unique_ptr<FileTree>> Create(
      const std::string& path, ZipReader zip) {
    auto tree = std::make_unique<ZipTree>(path, std::move(zip));
    const absl::Status listed = tree->List();
    if (!listed.ok()) return Annotate(listed, tree->path());
    return tree;
  }
  ZipTree(const std::string& path, ZipReader zip)
      : path_(ShownUrl(path)), zip_(std::move(zip)) {}

  std::string kind() const override { return "a zip of images"; }
  const std::string& path() const override { return path_; }
  const std::vector<TreeFile>& files() const override { return files_; }
  std::string NameOf(int64_t file) const override {
    return absl::StrCat(path_, ":", files_[file].name);
  }
  absl::StatusOr<std::string> Read(int64_t file) const override {
    auto bytes = zip_.Read(*members_[file], kMaxZipFileBytes);
    if (!bytes.ok()) return Annotate(bytes.status(), NameOf(file));
    return bytes;
  }
  absl::StatusOr<std::string> ReadStart(int64_t file,
                                        int64_t size) const override {
    return zip_.ReadStart(*members_[file], size);
  }

 private:
  absl::Status List() {
    const auto& members = zip_.members();
    const auto any_has = [&](char separator) {
      return std::ranges::any_of(members, [&](const ZipMember& member) {
        return absl::StrContains(member.name, separator);
      });
    };
    const bool windows = any_has('\\') && !any_has('/');
    std::vector<std::pair<std::string, const ZipMember*>> named;
    for (const ZipMember& member : members) {
      const std::string name =
          windows ? absl::StrReplaceAll(member.name, {{"\\", "/"}})
                  : member.name;
      if (absl::EndsWith(name, "/")) continue;
      GANDEM_ASSIGN_OR_RETURN(std::string normal, NormalMemberName(name));
      named.emplace_back(std::move(normal), &member);
    }
    std::ranges::sort(named);
    for (auto& [name, member] : named) {
      if (!files_.empty() && files_.back().name == name) {
        return absl::DataLossError(absl::StrCat(
            "damaged zip archive: '", name, "' is there twice, as '",
            members_.back()->name, "' and '", member->name, "'"));
      }
      files_.push_back({.name = std::move(name),
                        .bytes = static_cast<int64_t>(member->bytes)});
      members_.push_back(member);
    }
    return absl::OkStatus();
  }

  // Never change after Create.
  const std::string path_;
  const ZipReader zip_;
  std::vector<const ZipMember*> members_;  // of zip_, as files_
  std::vector<TreeFile> files_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileTree>> OpenZipTree(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(auto file, OpenFile(path));
  GANDEM_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(std::move(file)));
  return ZipTree::Create(path, std::move(zip));
}

}  // namespace gandem
