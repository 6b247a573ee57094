// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/tar_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TarIndexTest : public ::testing::Test {
 protected:
  // Writes `count` files named by their numbers, with an index.
  TarIndex Write(int count) {
    TarIndex index = {.class_names = {"a cat", "dog\n"}};
    auto tar = TarWriter::Create(path_);
    EXPECT_OK(tar.status());
    for (int i = 0; i < count; ++i) {
      const std::string name = absl::StrCat(i, ".jpg");
      const std::string bytes(static_cast<size_t>(i % 700), 'x');
      index.files.push_back({.name = name,
                             .offset = tar->written().size + kTarBlockBytes,
                             .size = i % 700,
                             .crc32c = TextCrc32c(bytes),
                             .label = i % 2});
      EXPECT_OK(tar->Add(name, bytes));
    }
    EXPECT_OK(AddTarIndex(index, *tar));
    EXPECT_OK(tar->Finish());
    return index;
  }
  absl::StatusOr<std::optional<TarIndex>> Read() {
    return ReadTarIndex(*FileInMemory("x.tar", *ReadFile(path_)));
  }

  const gandem::testing::TempDir dir_;
  const std::string path_ = dir_ / "x.tar";
};

// The largest index exceeds the part that is read first.
TEST_F(TarIndexTest, AWrittenIndexIsReadBack) {
  for (const int count : {0, 1, 700, 5000}) {
    const TarIndex written = Write(count);
    ASSERT_OK_AND_ASSIGN(const std::optional<TarIndex> read, Read());
    ASSERT_TRUE(read.has_value()) << count;
    EXPECT_EQ(read->files, written.files);
    EXPECT_EQ(read->class_names, written.class_names);
    const std::string bytes = *ReadFile(path_);
    EXPECT_EQ(read->archive_crc32c,
              TextCrc32c(absl::string_view(bytes).substr(
                  0, static_cast<size_t>(read->archive_bytes))));
  }
}

// Other programs see the index as an additional file.
TEST_F(TarIndexTest, OtherProgramsReadTheArchive) {
  const TarIndex written = Write(3);
  ASSERT_OK_AND_ASSIGN(const auto file, OpenLocalFile(path_));
  ASSERT_OK_AND_ASSIGN(const TarListing listing, ListTar(*file));
  const std::vector<TarMember>& members = listing.members;
  ASSERT_THAT(members, SizeIs(4));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(members[i].name, written.files[i].name);
    EXPECT_EQ(members[i].offset, written.files[i].offset);
    EXPECT_EQ(members[i].size, written.files[i].size);
  }
  EXPECT_EQ(members[3].name, ".gandem-index");
  const std::string in_folder = absl::StrCat("cd ", dir_.path(), " && ");
  ASSERT_EQ(std::system((in_folder + "tar xf x.tar").c_str()), 0);
  EXPECT_EQ(*ReadFile(dir_ / "2.jpg"), "xx");
  const std::string bytes = *ReadFile(path_);
  const auto size = static_cast<size_t>(members[3].offset - kTarBlockBytes);
  ASSERT_OK(WriteFile(path_, bytes.substr(0, size) + std::string(1024, '\0')));
  EXPECT_FALSE(Read()->has_value());
}

TEST_F(TarIndexTest, OtherArchivesHaveNoIndex) {
  for (const size_t size : {0, 512, 1024, 1600, 5000}) {
    EXPECT_FALSE((*ReadTarIndex(*FileInMemory("x", std::string(size, '\0'))))
                     .has_value())
        << size;
  }
  auto tar = TarWriter::Create(path_);
  ASSERT_OK(tar.status());
  ASSERT_OK(tar->Add("a.png", "bytes"));
  ASSERT_OK(tar->Finish());
  EXPECT_FALSE(Read()->has_value());
}

TEST_F(TarIndexTest, DamageIsDetected) {
  Write(50);
  const std::string good = *ReadFile(path_);
  const size_t index = good.find("gandem tar index");
  const size_t seal = good.find("gandem-index 0");
  ASSERT_NE(index, std::string::npos);
  ASSERT_NE(seal, std::string::npos);
  const auto expect_damaged = [&](const std::string& bytes) {
    ASSERT_OK(WriteFile(path_, bytes));
    EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss,
                                 AllOf(HasSubstr("'x.tar': its index"),
                                       HasSubstr("gandem dataset pack"))));
  };
  for (const size_t at :
       {index, index + 30, seal - 1, seal + 14, seal + 30, seal + 45}) {
    std::string bad = good;
    bad[at] ^= 1;
    expect_damaged(bad);
  }
  // The index belongs to an archive with the same end and fewer bytes.
  expect_damaged(good.substr(512));
}

TEST(ParseTarIndexTest, MismatchedIndexesAreRefused) {
  const auto parse = [](const std::string& lines) {
    return ParseTarIndex("gandem tar index 1\n" + lines, 4096).has_value();
  };
  EXPECT_TRUE(parse("classes 0\nfiles 1\n512 3584 00 -1 a\n\n\n"));
  EXPECT_TRUE(parse("classes 1\nx\nfiles 0\n"));
  for (const char* const lines : {
           "",                                        // nothing
           "classes 0\n",                             // no files
           "classes -1\nfiles 0\n",                   // a bad count
           "classes 99\nx\nfiles 0\n",                // too few lines
           "classes 0\nfiles 2\n512 1 00 -1 a\n",     // the same
           "classes 0\nfiles 0\nmore\n",              // too many
           "classes 0\nfiles 1\n511 1 00 -1 a\n",     // in the header
           "classes 0\nfiles 1\n512 3585 00 -1 a\n",  // beyond the end
           "classes 0\nfiles 1\n512 9223372036854775807 00 -1 a\n",
           "classes 0\nfiles 1\n512 -1 00 -1 a\n",   // a size
           "classes 0\nfiles 1\n512 1 xx -1 a\n",    // a checksum
           "classes 0\nfiles 1\n512 1 00 -2 a\n",    // a label
           "classes 0\nfiles 1\n512 1 00 -1 \n",     // no name
           "classes 0\nfiles 1\n512 1 00 -1 \\q\n",  // an escape
           "classes 0\nfiles 1\n512 1 00 -1\n",      // a field less
           "classes 0\nfiles 2\n512 1 00 -1 a\n600 1 00 -1 b\n",  // overlap
           "classes 0\nfiles 2\n512 1 00 -1 a\n2048 1 00 1 b\n",  // half
                                                                  // labeled
       }) {
    EXPECT_FALSE(parse(lines)) << lines;
  }
  EXPECT_FALSE(ParseTarIndex("another\n", 4096).has_value());
}

}  // namespace
}  // namespace gandem
