// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "tests/testing/bytes_of.h"
#include "tests/testing/cpu_seconds.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::BytesOf;
using ::gandem::testing::CpuSeconds;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename T>
std::vector<T> ValuesOf(const SharedBytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return values;
}

SharedBytes FileOf(absl::string_view header, absl::string_view data) {
  const uint64_t size = header.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof(size));
  absl::StrAppend(&file, header, data);
  return SharedBytes::Copy(std::as_bytes(std::span(file)));
}

TEST(SafetensorsTest, ReadsBackWhatItWrote) {
  const TempDir dir;
  const std::vector<NamedTensor> written = {
      {"flags", DType::kBool, {3}, BytesOf<uint8_t>({1, 0, 1})},
      {"bytes", DType::kU8, {1, 2}, BytesOf<uint8_t>({7, 255})},
      {"half", DType::kF16, {1}, BytesOf<uint16_t>({0x3c00})},
      {"brain", DType::kBF16, {1}, BytesOf<uint16_t>({0x3f80})},
      {"weight \"\\\n\u00e9",
       DType::kF32,
       {2, 2},
       BytesOf<float>({1, -2, 3.5, 1e-38f})},
      {"scalar", DType::kF64, {}, BytesOf<double>({0.1})},
      {"steps", DType::kI64, {2}, BytesOf<int64_t>({-1, INT64_MAX})},
      {"ints", DType::kI32, {1}, BytesOf<int32_t>({INT32_MIN})},
      {"empty", DType::kF32, {0, 5}, {}},
  };
  ASSERT_OK_AND_ASSIGN(
      const FileSummary summary,
      WriteSafetensors(dir / "f", written, {{"step", "7"}, {"a", "\u00e9"}}));
  ASSERT_OK_AND_ASSIGN(const std::string file, ReadFile(dir / "f"));
  EXPECT_EQ(summary.size, file.size());
  EXPECT_EQ(summary.crc32c, Crc32c(std::as_bytes(std::span(file))));

  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> read,
                       ReadSafetensors(dir / "f"));
  ASSERT_EQ(read.size(), written.size());
  for (const NamedTensor& expected : written) {
    const auto found =
        std::ranges::find(read, expected.name, &NamedTensor::name);
    ASSERT_NE(found, read.end()) << expected.name;
    EXPECT_EQ(found->dtype, expected.dtype);
    EXPECT_EQ(found->shape, expected.shape);
    EXPECT_EQ(ValuesOf<uint8_t>(found->bytes),
              ValuesOf<uint8_t>(expected.bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(found->bytes.data()) %
                  BytesPerElement(found->dtype),
              0);
  }
}

TEST(SafetensorsTest, ReadsTheMetadata) {
  const TempDir dir;
  const std::map<std::string, std::string> metadata = {{"step", "7"},
                                                       {"a", "\u00e9"}};
  ASSERT_OK(WriteSafetensors(dir / "f", {}, metadata));
  ASSERT_OK_AND_ASSIGN(const auto read, ReadSafetensorsMetadata(dir / "f"));
  EXPECT_EQ(read, metadata);
  ASSERT_OK(WriteSafetensors(dir / "f", {}, {}));
  ASSERT_OK_AND_ASSIGN(const auto nothing, ReadSafetensorsMetadata(dir / "f"));
  EXPECT_THAT(nothing, IsEmpty());
  ASSERT_OK(WriteFile(dir / "f", "12345678"));
  EXPECT_THAT(ReadSafetensorsMetadata(dir / "f"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/f: ")));
}

TEST(SafetensorsTest, TheLayoutFollowsTheFormat) {
  const TempDir dir;
  const std::vector<NamedTensor> tensors = {
      {"b", DType::kU8, {1}, BytesOf<uint8_t>({9})},
      {"a", DType::kF32, {1}, BytesOf<float>({1})}};
  ASSERT_OK(WriteSafetensors(dir / "f", tensors, {{"k", "v"}}));
  const std::string header =
      R"({"__metadata__":{"k":"v"},)"
      R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("b":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})";
  const std::string padded =
      header + std::string(7 - (header.size() + 7) % 8, ' ');
  const uint64_t size = padded.size();
  EXPECT_EQ(size % 8, 0);
  EXPECT_EQ(*ReadFile(dir / "f"),
            std::string(reinterpret_cast<const char*>(&size), 8) + padded +
                std::string("\0\0\x80\x3f\x09", 5));
}

TEST(SafetensorsTest, AFileMayHaveNoTensors) {
  const TempDir dir;
  ASSERT_OK(WriteSafetensors(dir / "f", {}, {}));
  ASSERT_OK_AND_ASSIGN(const auto tensors, ReadSafetensors(dir / "f"));
  EXPECT_THAT(tensors, IsEmpty());
}

TEST(SafetensorsTest, WriteListsEveryFault) {
  const TempDir dir;
  const std::vector<NamedTensor> tensors = {
      {"w", DType::kF32, {2}, BytesOf<float>({1})},
      {"w", DType::kF32, {1}, BytesOf<float>({1})},
      {"n", DType::kF32, {-1, -1}, BytesOf<float>({1})},
      {"o", DType::kF32, {INT64_MAX, 2}, {}},
      {"__metadata__", DType::kU8, {0}, {}},
      {"\xff", DType::kU8, {0}, {}}};
  EXPECT_THAT(
      WriteSafetensors(dir / "f", tensors, {{"k", "\xff"}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("tensor 'w' has 4 bytes, which is not F32 [2]"),
                     HasSubstr("two tensors have the name 'w'"),
                     HasSubstr("tensor 'n' has 4 bytes"),
                     HasSubstr("tensor 'o' has 0 bytes"),
                     HasSubstr("the name '__metadata__'"),
                     HasSubstr("the name '\xff'"),
                     HasSubstr("metadata 'k' is not UTF-8"))));
  EXPECT_FALSE(PathExists(dir / "f"));
}

TEST(SafetensorsTest, AFullDiskIsResourceExhausted) {
  const std::vector<NamedTensor> tensors = {
      {"w", DType::kF32, {1}, BytesOf<float>({1})}};
  EXPECT_THAT(
      WriteSafetensors("/dev/full", tensors, {}),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/dev/full")));
}

TEST(SafetensorsTest, ForeignOrderAndOddOffsetsAreRead) {
  const SharedBytes file =
      FileOf(R"(  {"b":{"data_offsets":[1,5],"shape":[],"dtype":"I32"},)"
             R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   )",
             std::string("\x05\x01\0\0\0", 5));
  ASSERT_OK_AND_ASSIGN(const auto tensors, ParseSafetensors(file));
  ASSERT_EQ(tensors.size(), 2);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_THAT(ValuesOf<int32_t>(tensors[1].bytes), ElementsAre(1));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensors[1].bytes.data()) % 4, 0);
}

struct BadHeader {
  const char* why;
  std::string header;
  std::string data;
};

std::string SafetensorsTensor(absl::string_view fields) {
  return absl::StrCat("{\"w\":{", fields, "}}");
}

TEST(SafetensorsTest, FilesThatViolateTheFormatAreRefused) {
  const std::string two =
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[%s]}})";
  const auto pair = [&two](absl::string_view offsets) {
    std::string text = two;
    text.replace(text.find("%s"), 2, std::string(offsets));
    return text;
  };
  const std::vector<BadHeader> cases = {
      {"is not JSON", "", ""},
      {"is not JSON", "{", ""},
      {"is not JSON", "{\"w\":\"\xff\"}", ""},
      {"is not JSON", std::string(100'000, '['), ""},
      {"no JSON object", "[]", ""},
      {"no JSON object", "7", ""},
      {"other fields", R"({"w":7})", ""},
      {"other fields", R"({"w":{}})", ""},
      {"other fields",
       SafetensorsTensor(
           R"("dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1)"),
       "1"},
      {"1 bytes at the end belong to no tensor",
       R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
       R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       "12"},
      {"no text",
       SafetensorsTensor(R"("dtype":7,"shape":[1],"data_offsets":[0,1])"), "1"},
      {"unknown dtype 'U9'",
       SafetensorsTensor(R"("dtype":"U9","shape":[1],"data_offsets":[0,1])"),
       "1"},
      {"bad shape",
       SafetensorsTensor(R"("dtype":"U8","shape":1,"data_offsets":[0,1])"),
       "1"},
      {"bad shape",
       SafetensorsTensor(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"),
       "1"},
      {"bad shape",
       SafetensorsTensor(R"("dtype":"U8","shape":[1.0],"data_offsets":[0,1])"),
       "1"},
      {"bad shape",
       SafetensorsTensor(
           R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1])"),
       "1"},
      {"which is not U8 [4294967296, 4294967296]",
       SafetensorsTensor(
           R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"),
       ""},
      {"which is not F32 [4611686018427387904]",
       SafetensorsTensor(
           R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"),
       ""},
      {"has 1 bytes, which is not F32 [1]",
       SafetensorsTensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,1])"),
       "1"},
      {"bad shape",
       SafetensorsTensor(
           absl::StrCat(R"("dtype":"U8","shape":[)",
                        absl::StrJoin(std::vector<int>(65, 1), ","),
                        R"(],"data_offsets":[0,1])")),
       "1"},
      {"bad data_offsets",
       SafetensorsTensor(R"("dtype":"U8","shape":[1],"data_offsets":[0])"),
       "1"},
      {"bad data_offsets",
       SafetensorsTensor(R"("dtype":"U8","shape":[1],"data_offsets":[0,1,2])"),
       "1"},
      {"bad data_offsets",
       SafetensorsTensor(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"),
       "1"},
      {"bad data_offsets",
       SafetensorsTensor(R"("dtype":"U8","shape":[1],"data_offsets":[-1,0])"),
       "1"},
      {"tensor 'b' begins at byte 1, the one before ends at 2", pair("1,3"),
       "123"},  // overlap
      {"tensor 'b' begins at byte 3, the one before ends at 2", pair("3,5"),
       "12345"},                                           // gap
      {"tensor 'b' begins at byte 0", pair("0,2"), "12"},  // the same bytes
      {"tensor 'b' ends at byte 4, the file has 3", pair("2,4"), "123"},
      {"1 bytes at the end belong to no tensor", pair("2,4"), "12345"},
      {"1 bytes at the end belong to no tensor", "{}", "1"},
      {"__metadata__ is no JSON object", R"({"__metadata__":[]})", ""},
      {"metadata 'k' is no text", R"({"__metadata__":{"k":7}})", ""},
  };
  for (const BadHeader& bad : cases) {
    EXPECT_THAT(ParseSafetensors(FileOf(bad.header, bad.data)),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("not a safetensors file"),
                               HasSubstr(bad.why))))
        << bad.header.substr(0, 100);
  }
}

// A linear search of the keys took minutes, and hours at the limit of the
// header's size.
TEST(SafetensorsTest, ManyTensorsAreReadFast) {
  std::vector<NamedTensor> tensors(1 << 16, {.name = {},
                                             .dtype = DType::kU8,
                                             .shape = {1},
                                             .bytes = BytesOf<uint8_t>({7})});
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].name = absl::StrCat("layer.", i, ".weight");
  }
  ASSERT_OK_AND_ASSIGN(const SharedBytes file, SerializeSafetensors(tensors));
  const double begin = CpuSeconds();
  ASSERT_OK_AND_ASSIGN(const auto read, ParseSafetensors(file));
  EXPECT_LT(CpuSeconds() - begin, 5);
  ASSERT_EQ(read.size(), tensors.size());
  EXPECT_EQ(read.front().name, "layer.0.weight");
  EXPECT_EQ(read.back().name, "layer.65535.weight");
  EXPECT_THAT(ValuesOf<uint8_t>(read.back().bytes), ElementsAre(7));

  tensors.push_back(tensors[0]);
  tensors.back().name = "one more";
  EXPECT_THAT(SerializeSafetensors(tensors),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("65537 tensors are more than a file of "
                                 "65536")));
}

TEST(SafetensorsTest, HeadersWithTooManyNamesAreRefusedFast) {
  std::vector<std::string> entries;
  for (int i = 0; i < 200'000; ++i) {
    entries.push_back(absl::StrCat("\"", i, "\":{}"));
  }
  const std::string names = absl::StrCat("{", absl::StrJoin(entries, ","), "}");
  const double begin = CpuSeconds();
  EXPECT_THAT(ParseSafetensors(FileOf(names, "")),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("more than 65536 names in the header")));
  EXPECT_LT(CpuSeconds() - begin, 15);
}

TEST(SafetensorsTest, TooManyDimensionsAreNotWritten) {
  const std::vector<NamedTensor> tensors = {
      {"w", DType::kU8, std::vector<int64_t>(65, 1), BytesOf<uint8_t>({7})}};
  EXPECT_THAT(SerializeSafetensors(tensors),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tensor 'w' has 1 bytes, which is not U8")));
}

TEST(SafetensorsTest, RefusesHeaderSizesThatDoNotFit) {
  for (const uint64_t size :
       {uint64_t{3}, uint64_t{16 << 20} + 1, UINT64_MAX, UINT64_MAX - 7}) {
    std::string file(reinterpret_cast<const char*>(&size), sizeof(size));
    file += "{}";
    EXPECT_THAT(
        ParseSafetensors(SharedBytes::Copy(std::as_bytes(std::span(file)))),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("does not fit")));
  }
  EXPECT_THAT(ParseSafetensors(BytesOf<uint8_t>({1, 2, 3})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("8 bytes")));
}

TEST(SafetensorsTest, EveryTruncationIsDetected) {
  const TempDir dir;
  const std::vector<NamedTensor> tensors = {
      {"a", DType::kF32, {2}, BytesOf<float>({1, 2})}};
  ASSERT_OK(WriteSafetensors(dir / "f", tensors, {}));
  ASSERT_OK_AND_ASSIGN(const std::string file, ReadFile(dir / "f"));
  for (size_t size = 0; size < file.size(); ++size) {
    ASSERT_OK(WriteFile(dir / "cut", file.substr(0, size)));
    EXPECT_THAT(ReadSafetensors(dir / "cut"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(dir / "cut")))
        << size;
  }
  EXPECT_THAT(ReadSafetensors(dir / "none"),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace gandem
