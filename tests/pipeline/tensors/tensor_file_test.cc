// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tensors/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/file.h"
#include "tests/pipeline/tensor_files.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::NpyBytes;
using ::gandem::testing::SafetensorsBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TensorGolden;
using ::gandem::testing::TensorOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<TensorFile> ReadBytes(std::string bytes) {
  return ReadTensorFile(*FileInMemory("f", std::move(bytes)));
}

absl::StatusOr<std::vector<int64_t>> LabelsOf(std::string bytes) {
  return ReadLabelArray(*FileInMemory("f", std::move(bytes)));
}

TEST(TensorFileTest, FilesOfOtherProgramsAreRead) {
  ASSERT_OK_AND_ASSIGN(const auto halves,
                       OpenLocalFile(TensorGolden("halves.safetensors")));
  ASSERT_OK_AND_ASSIGN(const TensorFile file, ReadTensorFile(*halves));
  EXPECT_EQ(file.format.dtype, DType::kF16);
  EXPECT_EQ(file.format.shape,
            (ImageShape{.channels = 4, .height = 16, .width = 16}));
  EXPECT_EQ(file.size, 4);
  EXPECT_THAT(file.labels, ElementsAre(3, 1, 0, 2));
  // The first number is subnormal: the smallest one with this mantissa.
  EXPECT_EQ(*halves->Read(file.offset, 2), absl::string_view("\x09\x00", 2));

  ASSERT_OK_AND_ASSIGN(const auto images,
                       OpenLocalFile(TensorGolden("images-0.npy")));
  ASSERT_OK_AND_ASSIGN(const TensorFile array, ReadTensorFile(*images));
  EXPECT_EQ(array.format.dtype, DType::kF32);
  EXPECT_EQ(array.format.shape,
            (ImageShape{.channels = 3, .height = 2, .width = 2}));
  EXPECT_EQ(array.size, 3);
  EXPECT_EQ(array.offset + 3 * array.format.sample_bytes(), images->size());
  ASSERT_OK_AND_ASSIGN(const auto labels,
                       OpenLocalFile(TensorGolden("labels-0.npy")));
  EXPECT_THAT(*ReadLabelArray(*labels), ElementsAre(2, 0, 1));
}

TEST(TensorFileTest, OtherRanksAreRefused) {
  const std::vector<float> numbers(12);
  EXPECT_EQ(ReadBytes(NpyBytes(DType::kF32, {2, 2, 3}, numbers))->format.shape,
            (ImageShape{.channels = 1, .height = 2, .width = 3}));
  EXPECT_EQ(ReadBytes(NpyBytes(DType::kF32, {2, 6}, numbers))->format.shape,
            (ImageShape{.channels = 1, .height = 1, .width = 6}));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{12}, std::vector<int64_t>{1, 1, 2, 2, 3}}) {
    EXPECT_THAT(ReadBytes(NpyBytes(DType::kF32, shape, numbers)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("samples are F16 or F32 [N, channels")));
  }
  EXPECT_THAT(
      ReadBytes(NpyBytes(DType::kF32, {0, 2, 3}, std::vector<float>())),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[0, 2, 3]")));
}

TEST(TensorFileTest, OtherTypesAreNamed) {
  EXPECT_THAT(
      ReadBytes(NpyBytes(DType::kU8, {1, 2}, std::vector<uint8_t>(2))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("U8 [1, 2]")));
  EXPECT_THAT(
      ReadBytes(NpyBytes(DType::kF64, {1, 2}, std::vector<double>(2))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("F64 [1, 2]")));
  const std::string fortran =
      "\x93NUMPY\x01" + std::string(1, '\0') + "\x4c" + std::string(1, '\0') +
      "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }" +
      std::string(0x4c - 58, ' ') + std::string(8, '\0');
  EXPECT_THAT(ReadBytes(fortran), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("ascontiguousarray")));
}

TEST(TensorFileTest, ATensorIsSelectedByNameOrIsTheOnlyOne) {
  const std::vector<float> six(6);
  const std::vector<int32_t> labels = {4, 0};
  // The name selects a tensor.
  ASSERT_OK_AND_ASSIGN(const TensorFile named,
                       ReadBytes(SafetensorsBytes(
                           {TensorOf("embeddings", DType::kF32, {2, 3}, six),
                            TensorOf("data", DType::kF32, {2, 1, 3}, six),
                            TensorOf("y", DType::kI32, {2}, labels)})));
  EXPECT_EQ(named.format.shape,
            (ImageShape{.channels = 1, .height = 1, .width = 3}));
  EXPECT_THAT(named.labels, ElementsAre(4, 0));
  // A single tensor needs no name.
  ASSERT_OK_AND_ASSIGN(
      const TensorFile alone,
      ReadBytes(SafetensorsBytes({TensorOf("z", DType::kF32, {3, 2}, six),
                                  TensorOf("scale", DType::kF32, {6}, six)})));
  EXPECT_EQ(alone.size, 3);
  EXPECT_THAT(alone.labels, IsEmpty());
  EXPECT_THAT(
      ReadBytes(SafetensorsBytes({TensorOf("w1", DType::kF32, {3, 2}, six),
                                  TensorOf("w2", DType::kF32, {2, 3}, six)})),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("f: it has no tensor images, latents"),
                     HasSubstr("w2 F32 [2, 3]"))));
}

TEST(TensorFileTest, InvalidLabelsAreNotUsed) {
  const auto with = [](const NamedTensor& labels) {
    return ReadBytes(SafetensorsBytes(
        {TensorOf("images", DType::kF32, {2, 2}, std::vector<float>(4)),
         labels}));
  };
  EXPECT_THAT(
      with(TensorOf("labels", DType::kI64, {2}, std::vector<int64_t>{-1, -1}))
          ->labels,
      IsEmpty());
  const std::pair<NamedTensor, const char*> kUnused[] = {
      {TensorOf("labels", DType::kI64, {2}, std::vector<int64_t>{1, -1}),
       "f: its labels: -1 is among them"},
      {TensorOf("label", DType::kI64, {1}, std::vector<int64_t>{1}),
       "f: it has 2 samples and 1 labels"},
      {TensorOf("labels", DType::kF32, {2}, std::vector<float>(2)),
       "whole numbers"}};
  for (const auto& [labels, why] : kUnused) {
    ASSERT_OK_AND_ASSIGN(const TensorFile file, with(labels));
    EXPECT_THAT(file.labels, IsEmpty());
    EXPECT_THAT(file.unused_labels, HasSubstr(why));
  }
  EXPECT_THAT(
      LabelsOf(NpyBytes(DType::kI32, {1, 2}, std::vector<int32_t>(2))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("I32 [1, 2]")));
}

TEST(TensorFileTest, DamagedFilesAreRefused) {
  for (const char* const name : {"halves.safetensors", "images-0.npy"}) {
    SCOPED_TRACE(name);
    const std::string whole = *ReadFile(TensorGolden(name));
    for (const size_t size :
         {size_t{0}, size_t{5}, size_t{60}, size_t{130}, whole.size() - 1}) {
      EXPECT_THAT(ReadBytes(whole.substr(0, size)),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("f: ")))
          << size;
    }
    EXPECT_THAT(ReadBytes(whole + "x"), StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(LabelsOf("no array"), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace gandem
