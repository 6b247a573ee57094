// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TarTest : public ::testing::Test {
 protected:
  void Write(const std::string& path) {
    ASSERT_OK_AND_ASSIGN(TarWriter writer, TarWriter::Create(path));
    ASSERT_OK(writer.Add("a.png", std::string(512, 'a')));
    ASSERT_OK(writer.Add("empty", ""));
    ASSERT_OK(writer.Add(std::string(100, 'n'), "three"));
    ASSERT_OK(writer.Finish());
  }
  absl::StatusOr<std::vector<TarMember>> List() {
    const auto file = OpenLocalFile(path_);
    if (!file.ok()) return file.status();
    return ListTar(**file);
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

TEST_F(TarTest, ReadsWhatItWrote) {
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

TEST_F(TarTest, ReadsThatOfGnuTar) {
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

// Both have the file's name of 90 bytes in a folder of 60.
TEST_F(TarTest, NamesInTwoParts) {
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

// Nothing is read where a link points to.
TEST_F(TarTest, LinksAreLeftOut) {
  ASSERT_OK(WriteFile(dir_ / "a", "file"));
  ASSERT_EQ(Run("ln -s /etc/passwd b && ln a c && tar -cf x.tar a b c"), 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, List());
  ASSERT_THAT(members, SizeIs(1));
  EXPECT_EQ(members[0].name, "a");
}

TEST_F(TarTest, DamageIsFound) {
  Write(path_);
  const std::string good = *ReadFile(path_);
  const auto expect_damaged = [&](const std::string& bytes) {
    ASSERT_OK(WriteFile(path_, bytes));
    EXPECT_THAT(List(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("x.tar")));
  };
  expect_damaged("");
  expect_damaged(std::string(1000, 'x'));
  expect_damaged(good.substr(0, good.size() - 1024));  // without its end
  expect_damaged(good.substr(0, 700));
  for (const size_t offset : {0, 124, 130, 148}) {  // name, size, checksum
    std::string bad = good;
    bad[offset] ^= 1;
    expect_damaged(bad);
  }
}

TEST_F(TarTest, AnArchiveThatGotShorter) {
  Write(path_);
  ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, List());
  ASSERT_OK(WriteFile(path_, ReadFile(path_)->substr(0, 600)));
  EXPECT_THAT(Contents(members[0]), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace gandem
