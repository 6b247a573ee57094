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
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

// Maximum size of an image file.
constexpr int64_t kMaxZipFileBytes = int64_t{1} << 30;

class ZipTree : public FileTree {
 public:
  ZipTree(TreeInfo info, ZipReader zip, std::vector<size_t> members)
      : FileTree(std::move(info)),
        zip_(std::move(zip)),
        members_(std::move(members)) {}

  std::string NameOf(int64_t file) const override {
    return absl::StrCat(path(), ":", files()[file].name);
  }
  absl::StatusOr<std::string> Read(int64_t file) const override {
    auto bytes = zip_.Read(zip_.members()[members_[file]], kMaxZipFileBytes);
    if (!bytes.ok()) return Annotate(bytes.status(), NameOf(file));
    return bytes;
  }
  absl::StatusOr<std::string> ReadStart(int64_t file,
                                        int64_t size) const override {
    return zip_.ReadStart(zip_.members()[members_[file]], size);
  }

 private:
  // Never change after construction.
  const ZipReader zip_;
  const std::vector<size_t> members_;  // indices in zip_.members()
};

// Lists the files of the archive. Returns their indices in zip.members().
absl::StatusOr<std::vector<size_t>> ListZip(const ZipReader& zip,
                                            std::vector<TreeFile>& files) {
  const auto any_has = [&](char separator) {
    return std::ranges::any_of(zip.members(), [&](const ZipMember& member) {
      return absl::StrContains(member.name, separator);
    });
  };
  const bool windows = any_has('\\') && !any_has('/');
  std::vector<std::pair<std::string, size_t>> named;
  for (size_t i = 0; i < zip.members().size(); ++i) {
    std::string name = zip.members()[i].name;
    if (windows) name = absl::StrReplaceAll(name, {{"\\", "/"}});
    if (absl::EndsWith(name, "/")) continue;
    GANDEM_ASSIGN_OR_RETURN(std::string normal, NormalMemberName(name));
    named.emplace_back(std::move(normal), i);
  }
  std::ranges::sort(named);
  std::vector<size_t> members;
  for (auto& [name, place] : named) {
    const ZipMember& member = zip.members()[place];
    if (!files.empty() && files.back().name == name) {
      return absl::DataLossError(absl::StrCat(
          "damaged zip archive: '", name, "' is there twice, as '",
          zip.members()[members.back()].name, "' and '", member.name, "'"));
    }
    files.push_back(
        {.name = std::move(name), .bytes = static_cast<int64_t>(member.bytes)});
    members.push_back(place);
  }
  return members;
}

}  // namespace

OpenedTree OpenZipTree(const Location& at) {
  GANDEM_ASSIGN_OR_RETURN(auto file, OpenFile(at.path));
  GANDEM_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(std::move(file)));
  TreeInfo info = {.kind = "a zip of images", .path = at.Shown()};
  auto members = ListZip(zip, info.files);
  if (!members.ok()) return Annotate(members.status(), info.path);
  return std::make_unique<ZipTree>(std::move(info), std::move(zip),
                                   *std::move(members));
}

}  // namespace gandem
