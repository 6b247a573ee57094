// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
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
  ZipTree(const std::string& path, ZipReader zip)
      : path_(ShownUrl(path)), zip_(std::move(zip)) {
    for (const ZipMember& member : zip_.members()) {
      if (!absl::EndsWith(member.name, "/")) members_.push_back(&member);
    }
    std::ranges::sort(members_, {}, &ZipMember::name);
    for (const ZipMember* const member : members_) {
      files_.push_back(
          {.name = member->name, .bytes = static_cast<int64_t>(member->bytes)});
    }
  }

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
  // Never change after construction.
  const std::string path_;
  const ZipReader zip_;
  std::vector<const ZipMember*> members_;  // of zip_
  std::vector<TreeFile> files_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileTree>> OpenZipTree(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(auto file, OpenFile(path));
  GANDEM_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(std::move(file)));
  return std::make_unique<ZipTree>(path, std::move(zip));
}

}  // namespace gandem
