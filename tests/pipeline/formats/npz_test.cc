// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "pipeline/formats/zip_format.h"
#include "tests/testing/bytes_of.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using gandem::testing::BytesOf;
using ::gandem::testing::IsOk;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<NamedTensor> SomeArrays() {
  return {{"images", DType::kU8, {2, 1, 2}, BytesOf<uint8_t>({1, 2, 3, 255})},
          {"mu", DType::kF64, {3}, BytesOf<double>({0.1, -2, 1e300})},
          {"count", DType::kI64, {}, BytesOf<int64_t>({-7})},
          {"none", DType::kF32, {0, 4}, {}}};
}

void Write(const std::string& path, const std::vector<NamedTensor>& arrays) {
  ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(path));
  for (const NamedTensor& array : arrays) ASSERT_OK(writer.Add(array));
  ASSERT_OK(writer.Finish());
}

void ExpectNpzEqual(const NamedTensor& a, const NamedTensor& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_TRUE(std::ranges::equal(a.bytes.span(), b.bytes.span())) << a.name;
}

TEST(NpzTest, WrittenArraysAreReadBack) {
  const TempDir dir;
  Write(dir / "f.npz", SomeArrays());
  EXPECT_TRUE(LooksLikeZip(dir / "f.npz"));
  ASSERT_OK_AND_ASSIGN(const NpzReader reader, NpzReader::Open(dir / "f.npz"));
  EXPECT_THAT(reader.names(), ElementsAre("count", "images", "mu", "none"));
  for (const NamedTensor& array : SomeArrays()) {
    EXPECT_TRUE(reader.Has(array.name));
    ASSERT_OK_AND_ASSIGN(const NamedTensor read, reader.Read(array.name));
    ExpectNpzEqual(read, array);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read.bytes.data()) %
                  static_cast<uintptr_t>(BytesPerElement(read.dtype)),
              0);
  }
}

TEST(NpzTest, ArraysAreWrittenInPieces) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(dir / "f.npz"));
  const std::vector<int64_t> shape = {1000, 3};
  ASSERT_OK(writer.Begin("arr_0", DType::kU8, shape));
  const std::vector<uint8_t> row = {1, 2, 3};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_OK(writer.Append(std::as_bytes(std::span(row))));
  }
  ASSERT_OK(writer.Finish());
  ASSERT_OK_AND_ASSIGN(const NpzReader reader, NpzReader::Open(dir / "f.npz"));
  ASSERT_OK_AND_ASSIGN(const NamedTensor read, reader.Read("arr_0"));
  EXPECT_EQ(read.bytes.size(), 3000);
  EXPECT_EQ(read.bytes.data()[2999], std::byte{3});
}

TEST(NpzTest, AnArchiveMayHaveNoArrays) {
  const TempDir dir;
  Write(dir / "f.npz", {});
  ASSERT_OK_AND_ASSIGN(const NpzReader reader, NpzReader::Open(dir / "f.npz"));
  EXPECT_TRUE(reader.names().empty());
}

TEST(NpzTest, TheWriterChecksTheNumberOfBytes) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(dir / "f.npz"));
  const std::vector<int64_t> shape = {4};
  const std::vector<std::byte> three(3);
  EXPECT_THAT(writer.Append(three),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(writer.Begin("a", DType::kU8, shape));
  ASSERT_OK(writer.Append(three));
  EXPECT_THAT(writer.Append(three),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("only 1 are missing")));
  EXPECT_THAT(writer.Begin("b", DType::kU8, shape),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'a' lacks 1 bytes")));
  EXPECT_THAT(writer.Finish(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(NpzTest, InvalidNamesAndTypesAreNotWritten) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(dir / "f.npz"));
  const std::vector<int64_t> shape = {0};
  ASSERT_OK(writer.Begin("a", DType::kU8, shape));
  for (const char* name : {"a", "", "x/y"}) {
    EXPECT_THAT(writer.Begin(name, DType::kU8, shape),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
  EXPECT_THAT(writer.Begin("b", DType::kBF16, shape),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("BF16")));
  ASSERT_OK(writer.Begin("c", DType::kU8, shape));
  ASSERT_OK(writer.Finish());
  ASSERT_OK_AND_ASSIGN(const NpzReader reader, NpzReader::Open(dir / "f.npz"));
  EXPECT_THAT(reader.names(), ElementsAre("a", "c"));
}

TEST(NpzTest, MissingArraysAreNamed) {
  const TempDir dir;
  EXPECT_THAT(NpzReader::Open(dir / "f.npz"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_FALSE(LooksLikeZip(dir / "f.npz"));
  Write(dir / "f.npz", SomeArrays());
  ASSERT_OK_AND_ASSIGN(const NpzReader reader, NpzReader::Open(dir / "f.npz"));
  EXPECT_THAT(reader.Read("sigma"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("'sigma'"),
                             HasSubstr("count, images, mu, none"))));
  ASSERT_OK_AND_ASSIGN(const NpzReader small,
                       NpzReader::Open(dir / "f.npz", 10));
  EXPECT_THAT(small.Read("mu"), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("more than 10")));
}

// Replaces all occurrences of `from` in the file by `to` of the same length.
void Edit(const std::string& path, const std::string& from,
          const std::string& to) {
  ASSERT_EQ(from.size(), to.size());
  ASSERT_OK_AND_ASSIGN(std::string file, ReadFile(path));
  bool found = false;
  for (size_t at = file.find(from); at != std::string::npos;
       at = file.find(from, at + 1)) {
    file.replace(at, from.size(), to);
    found = true;
  }
  ASSERT_TRUE(found);
  ASSERT_OK(WriteFile(path, file));
}

TEST(NpzTest, DamageIsDetected) {
  const struct {
    std::string from, to, message;
  } kCases[] = {
      {std::string("\1\2\3\xff", 4), std::string("\1\2\3\xfe", 4), "checksum"},
      {"PK\x05\x06", "PK\x05\x07", "no end record"},
      {"PK\x06\x06", "PK\x06\x07", "64-bit end record"},
      {"PK\x01\x02", "PK\x01\x03", "table of contents"},
      {"PK\x03\x04", "PK\x03\x05", "header is damaged"},
      {"count.npy", "image.npy", ""},  // no array `images` any more
  };
  for (const auto& test : kCases) {
    const TempDir dir;
    Write(dir / "f.npz", SomeArrays());
    Edit(dir / "f.npz", test.from, test.to);
    const auto reader = NpzReader::Open(dir / "f.npz");
    const absl::Status status =
        reader.ok()
            ? reader->Read(test.message.empty() ? "count" : "images").status()
            : reader.status();
    EXPECT_THAT(status,
                StatusIs(test.message.empty() ? absl::StatusCode::kNotFound
                                              : absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("f.npz"), HasSubstr(test.message))));
  }
}

// Edits the .npy header of the array `images` without changing its size. The
// checksum is corrected, because it would detect the edit first.
TEST(NpzTest, BadArrayHeadersAreRefused) {
  const struct {
    std::string from, to;
    absl::StatusCode code;
    std::string message;
  } kCases[] = {
      {"'|u1'", "'<U2'", absl::StatusCode::kInvalidArgument, "<U2"},
      {"'|u1'", "'|O8'", absl::StatusCode::kInvalidArgument, "astype"},
      {"(2, 1, 2)", "(2, 1, 3)", absl::StatusCode::kDataLoss, "4 bytes are"},
      {"(2, 1, 2)", "(2, 1,-2)", absl::StatusCode::kDataLoss, "shape"},
      {"(2, 1, 2)", "(2, 1, x)", absl::StatusCode::kDataLoss, "shape"},
      {"'shape'", "'shade'", absl::StatusCode::kDataLoss, "no descr"},
      {"False", "Maybe", absl::StatusCode::kDataLoss, "no descr"},
      {"\x93NUMPY\x01", "\x93NUMPY\x04", absl::StatusCode::kDataLoss,
       "version 4"},
      {"\x93NUMPY", "\x92NUMPY", absl::StatusCode::kDataLoss, "begin"},
  };
  for (const auto& test : kCases) {
    const TempDir dir;
    Write(dir / "f.npz", {SomeArrays()[0]});
    Edit(dir / "f.npz", test.from, test.to);
    ASSERT_OK_AND_ASSIGN(std::string file, ReadFile(dir / "f.npz"));
    const size_t begin = file.find("NUMPY") - 1;
    const size_t descriptor = file.find("PK\x07\x08");
    ASSERT_NE(descriptor, std::string::npos);
    const auto crc = zip::Crc32(0, file.substr(begin, descriptor - begin));
    std::memcpy(file.data() + file.find("PK\x01\x02") + 16, &crc, 4);
    ASSERT_OK(WriteFile(dir / "f.npz", file));
    ASSERT_OK_AND_ASSIGN(const NpzReader reader,
                         NpzReader::Open(dir / "f.npz"));
    EXPECT_THAT(reader.Read("images"),
                StatusIs(test.code, HasSubstr(test.message)))
        << test.to;
  }
}

// Reads every prefix, and the file with every byte changed. A sanitizer would
// report reads out of bounds.
TEST(NpzTest, DamageCausesAnErrorOrIsHarmless) {
  const TempDir dir;
  const std::string path = dir / "f.npz";
  Write(path, {SomeArrays()[0], SomeArrays()[1]});
  ASSERT_OK_AND_ASSIGN(const std::string file, ReadFile(path));
  const auto expect_handled = [&path](const std::string& contents) {
    ASSERT_OK(WriteFile(path, contents));
    const auto reader = NpzReader::Open(path);
    if (!reader.ok()) {
      EXPECT_THAT(reader, StatusIs(absl::StatusCode::kDataLoss));
      return;
    }
    for (const std::string& name : reader->names()) {
      EXPECT_THAT(reader->Read(name),
                  AnyOf(IsOk(), StatusIs(absl::StatusCode::kDataLoss),
                        StatusIs(absl::StatusCode::kInvalidArgument)));
    }
  };
  for (size_t size = 0; size < file.size(); ++size) {
    expect_handled(file.substr(0, size));
    ASSERT_FALSE(NpzReader::Open(path).ok()) << size;
  }
  for (size_t at = 0; at < file.size(); ++at) {
    for (const int change : {1, 0xff}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      expect_handled(damaged);
    }
  }
}

}  // namespace
}  // namespace gandem
