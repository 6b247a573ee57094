// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class TarTest : public ::testing::Test {
 protected:
  void Write(const std::string& path) {
    ASSERT_OK_AND_ASSIGN(TarWriter writer, TarWriter::Create(path));
    ASSERT_OK(writer.Add("a.png", std::string(512, 'a')));
    ASSERT_OK(writer.Add("empty", ""));
    ASSERT_OK(writer.Add(std::string(100, 'n'), "three"));
    ASSERT_OK(writer.Finish());
  }
  absl::StatusOr<TarListing> ListAll() {
    const auto file = OpenLocalFile(path_);
    if (!file.ok()) return file.status();
    return ListTar(**file);
  }
  absl::StatusOr<std::vector<TarMember>> List() {
    const auto listing = ListAll();
    if (!listing.ok()) return listing.status();
    EXPECT_TRUE(listing->unused.empty());
    return listing->members;
  }
  absl::StatusOr<std::string> Contents(const TarMember& member) {
    const auto file = OpenLocalFile(path_);
    if (!file.ok()) return file.status();
    return (*file)->Read(member.offset, member.size);
  }
  int Run(const std::string& command) {
    return std::system(
        absl::StrCat("cd ", dir_.path(), " && ", command).c_str());
  }

  gandem::testing::TempDir dir_;
  const std::string path_ = dir_ / "x.tar";
};

TEST_F(TarTest, WrittenMembersAreReadBack) {
  Write(path_);
  ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, List());
  ASSERT_THAT(members, SizeIs(3));
  EXPECT_EQ(members[0].name, "a.png");
  EXPECT_EQ(members[2].name, std::string(100, 'n'));
  EXPECT_EQ(*Contents(members[0]), std::string(512, 'a'));
  EXPECT_EQ(*Contents(members[1]), "");
  EXPECT_EQ(*Contents(members[2]), "three");
}

TEST_F(TarTest, TheSameFilesMakeTheSameArchive) {
  Write(path_);
  Write(dir_ / "y.tar");
  EXPECT_EQ(*ReadFile(path_), *ReadFile(dir_ / "y.tar"));
}

TEST_F(TarTest, GnuTarReadsIt) {
  Write(path_);
  ASSERT_EQ(Run("tar xf x.tar"), 0);
  EXPECT_EQ(*ReadFile(dir_ / "a.png"), std::string(512, 'a'));
  EXPECT_EQ(*ReadFile(dir_ / std::string(100, 'n')), "three");
}

TEST_F(TarTest, ArchivesOfGnuTarAreRead) {
  const std::string name = std::string(120, 'l') + ".png";
  ASSERT_OK(CreateDirectories(dir_ / "folder"));
  ASSERT_OK(WriteFile(dir_ / ("folder/" + name), "long"));
  ASSERT_OK(WriteFile(dir_ / "folder/b", "short"));
  for (const char* format : {"gnu", "pax"}) {
    ASSERT_EQ(Run(absl::StrCat("tar --format ", format,
                               " --sort=name -cf x.tar folder")),
              0);
    ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, List());
    ASSERT_THAT(members, SizeIs(2)) << format;
    EXPECT_EQ(members[0].name, "folder/b");
    EXPECT_EQ(members[1].name, "folder/" + name) << format;
    EXPECT_EQ(*Contents(members[1]), "long");
  }
}

TEST_F(TarTest, NamesAreNormalized) {
  ASSERT_OK(CreateDirectories(dir_ / "folder"));
  ASSERT_OK(WriteFile(dir_ / "folder/b", "x"));
  for (const char* format : {"v7", "gnu", "pax"}) {
    ASSERT_EQ(Run(absl::StrCat("tar --format ", format, " -cf x.tar ./folder")),
              0);
    ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, List());
    ASSERT_THAT(members, SizeIs(1)) << format;
    EXPECT_EQ(members[0].name, "folder/b") << format;
  }
  ASSERT_EQ(Run("tar -P -cf x.tar folder/../folder/b"), 0);
  EXPECT_THAT(
      List(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("x.tar: the member 'folder/../folder/b' leads out")));
}

// Both archives have a file name of 90 bytes in a folder of 60.
TEST_F(TarTest, NamesInTwoPartsAreJoined) {
  const std::string folder(60, 'f');
  const std::string name = std::string(90, 'n') + ".png";
  ASSERT_OK(CreateDirectories(dir_ / folder));
  ASSERT_OK(WriteFile(dir_ / (folder + "/" + name), "parts"));
  ASSERT_EQ(Run(absl::StrCat("tar --format ustar -cf x.tar ", folder)), 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, List());
  ASSERT_THAT(members, SizeIs(1));
  EXPECT_EQ(members[0].name, folder + "/" + name);
  EXPECT_EQ(*Contents(members[0]), "parts");
}

// A hard link is a file. The target of a symbolic link is not read.
TEST_F(TarTest, LinksAreResolvedInsideTheArchiveOnly) {
  const std::string name = std::string(120, 'l');
  ASSERT_OK(WriteFile(dir_ / name, "file"));
  ASSERT_EQ(Run(absl::StrCat("ln -s /etc/passwd b && mkfifo p && ln ", name,
                             " c && ln c ", name, "2")),
            0);
  for (const char* const format : {"gnu", "pax"}) {
    SCOPED_TRACE(format);
    ASSERT_EQ(Run(absl::StrCat("tar --format ", format, " -cf x.tar ", name,
                               " b p c ", name, "2")),
              0);
    ASSERT_OK_AND_ASSIGN(const TarListing all, ListAll());
    ASSERT_THAT(all.members, SizeIs(3));
    EXPECT_EQ(all.members[1].name, "c");
    EXPECT_EQ(all.members[2].name, name + "2");
    for (const TarMember& member : all.members) {
      EXPECT_EQ(*Contents(member), "file");
    }
    EXPECT_THAT(all.unused, UnorderedElementsAre(Pair("symbolic link", 1),
                                                 Pair("special file", 1)));
  }
  // The second name is stored as a hard link to the first.
  ASSERT_EQ(Run(absl::StrCat("tar -cf x.tar c ", name,
                             " && tar --delete -f x.tar c")),
            0);
  EXPECT_THAT(
      ListAll()->unused,
      ElementsAre(Pair("hard link to a file outside of the archive", 1)));
}

TEST_F(TarTest, DamageIsDetected) {
  Write(path_);
  const std::string good = *ReadFile(path_);
  const auto expect_damaged = [&](const std::string& bytes) {
    ASSERT_OK(WriteFile(path_, bytes));
    EXPECT_THAT(List(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("x.tar")));
  };
  expect_damaged("");
  expect_damaged(std::string(1000, 'x'));
  expect_damaged(good.substr(0, good.size() - 1024));  // without the end
  expect_damaged(good.substr(0, 700));
  for (const size_t offset : {0, 124, 130, 148}) {  // name, size, checksum
    std::string bad = good;
    bad[offset] ^= 1;
    expect_damaged(bad);
  }
}

// A remote file whose version changes after the first block.
class ChangingFile : public RandomAccessFile {
 public:
  explicit ChangingFile(std::string bytes) : bytes_(std::move(bytes)) {}

  const std::string& name() const override { return name_; }
  int64_t size() const override { return std::ssize(bytes_); }
  absl::StatusOr<std::string> Read(int64_t offset,
                                   int64_t size) const override {
    if (offset > 0) return absl::DataLossError("it was changed");
    return bytes_.substr(0, static_cast<size_t>(size));
  }

 private:
  const std::string name_ = "remote.tar";
  const std::string bytes_;
};

TEST_F(TarTest, AFileThatChangesIsNotReportedAsDamaged) {
  Write(path_);
  const ChangingFile file(*ReadFile(path_));
  const absl::Status status = ListTar(file).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(status.message(), "it was changed");
}

TEST_F(TarTest, ATruncatedArchiveIsReported) {
  Write(path_);
  ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, List());
  ASSERT_OK(WriteFile(path_, ReadFile(path_)->substr(0, 600)));
  EXPECT_THAT(Contents(members[0]), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace gandem
