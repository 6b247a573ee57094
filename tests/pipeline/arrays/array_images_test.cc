// SPDX-License-Identifier: Apache-2.0
//
// Tests of the memory that arrays of images take.
#include "pipeline/arrays/array_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "pipeline/formats/npy_format.h"
#include "pipeline/sources/image_sources.h"
#include "tests/pipeline/cifar_files.h"
#include "tests/pipeline/idx_files.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/memory.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::CifarPickle;
using ::gandem::testing::CifarPlanes;
using ::gandem::testing::GrowthWhile;
using ::gandem::testing::IdxBytes;
using ::gandem::testing::kMeasuresMemory;
using ::gandem::testing::NamedBytes;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteGzip;
using ::gandem::testing::WriteTar;
using ::gandem::testing::WriteTree;
using ::gandem::testing::WriteZip;
using ::testing::HasSubstr;

constexpr int64_t kRawBytes = 72 << 20;
constexpr uint32_t kSide = 1024;

class ArrayImagesTest : public ::testing::Test {
 protected:
  // Opens a source and returns the memory growth in units of kRawBytes.
  double GrowthOfOpening(const std::string& name) {
    absl::StatusOr<std::unique_ptr<ImageStore>> source;
    const int64_t growth =
        GrowthWhile([&] { source = OpenSource(dir_ / name); });
    status_ = source.status();
    return static_cast<double>(growth) / kRawBytes;
  }
  void ExpectOneCopy(const std::string& name) {
    const double growth = GrowthOfOpening(name);
    EXPECT_OK(status_);
    if (kMeasuresMemory) {
      EXPECT_LT(growth, 1.2);
    }
  }
  // Returns data that compresses to a few percent.
  static std::vector<uint8_t> Ramp() {
    std::vector<uint8_t> bytes(kRawBytes);
    for (int64_t i = 0; i < kRawBytes; ++i) {
      bytes[i] = static_cast<uint8_t>(i >> 6);
    }
    return bytes;
  }

  gandem::testing::TempDir dir_;
  absl::Status status_;
};

TEST_F(ArrayImagesTest, CompressedIdxIsInMemoryOnce) {
  constexpr uint32_t kImages = kRawBytes / kSide / kSide;
  WriteGzip(dir_ / "x-images-idx3-ubyte.gz",
            IdxBytes({kImages, kSide, kSide}, Ramp()));
  ExpectOneCopy("x-images-idx3-ubyte.gz");
}

TEST_F(ArrayImagesTest, CompressedNpzIsInMemoryOnce) {
  const std::vector<int64_t> shape = {kRawBytes / kSide / kSide / 3, kSide,
                                      kSide, 3};
  ASSERT_OK_AND_ASSIGN(const NpyHeader header,
                       MakeNpyHeader(DType::kU8, shape));
  const std::vector<uint8_t> ramp = Ramp();
  WriteZip(dir_ / "x.npz",
           {{"arr_0.npy", header.text + std::string(ramp.begin(), ramp.end())}},
           /*deflate=*/true);
  ExpectOneCopy("x.npz");
}

TEST_F(ArrayImagesTest, ACompressedArchiveWithoutCifarFilesIsNamed) {
  WriteTar(dir_ / "other.tar", {{"a/2.bin", "x"}});
  WriteGzip(dir_ / "other.tar.gz", *ReadFile(dir_ / "other.tar"));
  EXPECT_THAT(OpenSource(dir_ / "other.tar.gz"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("without CIFAR's files")));
}

class CifarFilesTest : public ArrayImagesTest {
 protected:
  static constexpr int64_t kBatch = kRawBytes / 5 / 3072;  // images per file

  NamedBytes Files(bool python) const {
    const std::string planes = CifarPlanes(NoiseImage(3, 32, 32, 1));
    std::string pixels;
    std::string records;
    for (int64_t i = 0; i < kBatch; ++i) {
      pixels += planes;
      records += "\x07" + planes;
    }
    NamedBytes files;
    for (int i = 1; i <= 5; ++i) {
      files.emplace_back(
          python ? absl::StrCat("cifar-10-batches-py/data_batch_", i)
                 : absl::StrCat("cifar-10-batches-bin/data_batch_", i, ".bin"),
          python ? CifarPickle(pixels, std::vector<int64_t>(kBatch, 7))
                 : records);
    }
    return files;
  }
};

TEST_F(CifarFilesTest, FoldersAreReadFromDisk) {
  std::vector<std::string> fingerprints;
  for (const bool python : {false, true}) {
    const std::string name = python ? "python" : "binary";
    WriteTree(dir_ / name, Files(python));
    const double growth = GrowthOfOpening(name);
    EXPECT_OK(status_);
    if (kMeasuresMemory) {
      EXPECT_LT(growth, 0.5);  // one file at a time, for its labels
    }
    ASSERT_OK_AND_ASSIGN(const auto source, OpenSource(dir_ / name));
    ASSERT_EQ(source->size(), 5 * kBatch);
    ASSERT_OK_AND_ASSIGN(const DecodedImage last, source->Read(5 * kBatch - 1));
    EXPECT_TRUE(last.pixels == NoiseImage(3, 32, 32, 1));
    EXPECT_EQ(source->LabelOf(5 * kBatch - 1), 7);
    fingerprints.push_back(*source->Fingerprint());
  }
  EXPECT_EQ(fingerprints[0], fingerprints[1]);
}

TEST_F(CifarFilesTest, AnArchiveIsInMemoryOnce) {
  for (const bool python : {false, true}) {
    WriteTar(dir_ / "c.tar", Files(python));
    WriteGzip(dir_ / "c.tar.gz", *ReadFile(dir_ / "c.tar"));
    ExpectOneCopy("c.tar.gz");
  }
}

}  // namespace
}  // namespace gandem
