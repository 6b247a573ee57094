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
  int Run(const std::string& command) {
    return std::system(
        absl::StrCat("cd ", dir_.path(), " && ", command).c_str());
  }

  gandem::testing::TempDir dir_;
  const std::string path_ = dir_ / "x.tar";
};

TEST_F(TarTest, ReadsWhatItWrote) {
  Write(path_);
  ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, ListTar(path_));
  ASSERT_THAT(members, SizeIs(3));
  EXPECT_EQ(members[0].name, "a.png");
  EXPECT_EQ(members[2].name, std::string(100, 'n'));
  EXPECT_EQ(*ReadTarMember(path_, members[0]), std::string(512, 'a'));
  EXPECT_EQ(*ReadTarMember(path_, members[1]), "");
  EXPECT_EQ(*ReadTarMember(path_, members[2]), "three");
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
    ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, ListTar(path_));
    ASSERT_THAT(members, SizeIs(2)) << format;
    EXPECT_EQ(members[0].name, "folder/b");
    EXPECT_EQ(*ReadTarMember(path_, members[1]), "long");
  }
}

TEST_F(TarTest, DamageIsFound) {
  Write(path_);
  const std::string good = *ReadFile(path_);
  const auto expect_damaged = [&](const std::string& bytes) {
    ASSERT_OK(WriteFile(path_, bytes));
    EXPECT_THAT(ListTar(path_),
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
  ASSERT_OK_AND_ASSIGN(const std::vector<TarMember> members, ListTar(path_));
  ASSERT_OK(WriteFile(path_, ReadFile(path_)->substr(0, 600)));
  EXPECT_THAT(ReadTarMember(path_, members[0]),
              StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace gandem
