// SPDX-License-Identifier: Apache-2.0
//
// Files are exchanged between gandem and Python's safetensors package.
// GANDEM_TEST_PYTHON names an interpreter that has the package.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "tests/testing/bytes_of.h"
#include "tests/testing/python_script.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using gandem::testing::BytesOf;
using gandem::testing::RunPython;
using ::gandem::testing::TempDir;

constexpr char kPeer[] = "tests/common/checkpoint/safetensors_peer.py";

TEST(SafetensorsPythonTest, PythonReadsGandemsFile) {
  const TempDir dir;
  const std::vector<NamedTensor> tensors = {
      {"flags", DType::kBool, {3}, BytesOf<uint8_t>({1, 0, 1})},
      {"bytes", DType::kU8, {1, 2}, BytesOf<uint8_t>({7, 255})},
      {"half", DType::kF16, {1}, BytesOf<uint16_t>({0x3c00})},
      {"weight \u00e9", DType::kF32, {2, 2}, BytesOf<float>({1, -2, 3.5, 4})},
      {"scalar", DType::kF64, {}, BytesOf<double>({0.1})},
      {"steps", DType::kI64, {2}, BytesOf<int64_t>({-1, INT64_MAX})},
      {"ints", DType::kI32, {1}, BytesOf<int32_t>({INT32_MIN})},
      {"empty", DType::kF32, {0, 5}, {}},
  };
  ASSERT_OK(WriteSafetensors(dir / "f", tensors, {{"step", "7"}}));
  EXPECT_EQ(RunPython(kPeer, "read " + (dir / "f")), 0);
}

TEST(SafetensorsPythonTest, GandemReadsPythonsFile) {
  const TempDir dir;
  ASSERT_EQ(RunPython(kPeer, "write " + (dir / "f")), 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> tensors,
                       ReadSafetensors(dir / "f"));
  const auto expect = [&tensors](absl::string_view name, DType dtype,
                                 const std::vector<int64_t>& shape,
                                 const SharedBytes& bytes) {
    const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
    ASSERT_NE(found, tensors.end()) << name;
    EXPECT_EQ(found->dtype, dtype);
    EXPECT_EQ(found->shape, shape);
    ASSERT_EQ(found->bytes.size(), bytes.size());
    EXPECT_TRUE(std::ranges::equal(found->bytes.span(), bytes.span())) << name;
  };
  EXPECT_EQ(tensors.size(), 4);
  expect("a", DType::kF32, {2, 2}, BytesOf<float>({1, 2, 3, 4}));
  expect("b", DType::kI64, {}, BytesOf<int64_t>({-5}));
  expect("c", DType::kBool, {3}, BytesOf<uint8_t>({1, 0, 1}));
  expect("d", DType::kF64, {0}, {});
}

}  // namespace
}  // namespace gandem
