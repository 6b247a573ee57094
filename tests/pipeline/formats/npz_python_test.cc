// SPDX-License-Identifier: Apache-2.0
//
// Files are exchanged between gandem and numpy. GANDEM_TEST_PYTHON names an
// interpreter that has numpy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/formats/npz.h"
#include "tests/testing/bytes_of.h"
#include "tests/testing/python_script.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using gandem::testing::BytesOf;
using gandem::testing::RunPython;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;

constexpr char kPeer[] = "tests/pipeline/formats/npz_peer.py";

TEST(NpzPythonTest, NumpyReadsGandemsFile) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(dir / "f.npz"));
  ASSERT_OK(writer.Add(
      {"arr_0", DType::kU8, {2, 1, 2}, BytesOf<uint8_t>({1, 2, 3, 255})}));
  ASSERT_OK(writer.Add({"mu", DType::kF64, {2}, BytesOf<double>({0.1, -2})}));
  ASSERT_OK(writer.Add({"flags", DType::kBool, {2}, BytesOf<uint8_t>({1, 0})}));
  ASSERT_OK(writer.Add({"scalar", DType::kI64, {}, BytesOf<int64_t>({-7})}));
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunPython(kPeer, "read " + (dir / "f.npz")), 0);
}

TEST(NpzPythonTest, GandemReadsNumpysFiles) {
  const TempDir dir;
  ASSERT_EQ(RunPython(kPeer, "write " + dir.path()), 0);
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    ASSERT_OK_AND_ASSIGN(const NpzReader reader, NpzReader::Open(dir / name));
    const auto expect = [&reader](const char* array, DType dtype,
                                  const std::vector<int64_t>& shape,
                                  const SharedBytes& bytes) {
      ASSERT_OK_AND_ASSIGN(const NamedTensor read, reader.Read(array));
      EXPECT_EQ(read.dtype, dtype);
      EXPECT_EQ(read.shape, shape);
      EXPECT_TRUE(std::ranges::equal(read.bytes.span(), bytes.span())) << array;
    };
    expect("floats", DType::kF32, {2, 3}, BytesOf<float>({1, 2, 3, 4, 5, 6}));
    std::vector<int64_t> counted(24);
    std::iota(counted.begin(), counted.end(), 0);
    expect("columns", DType::kI64, {2, 3, 4}, BytesOf(counted));
    expect("large", DType::kF64, {300, 300},
           BytesOf(std::vector<double>(90000, 0.0)));
    expect("empty", DType::kI32, {0, 3}, {});
    EXPECT_THAT(reader.Read("text"),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace gandem
