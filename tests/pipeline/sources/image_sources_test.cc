// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/image_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "common/files/sha256.h"
#include "common/value_of_byte.h"
#include "pipeline/fitted_images.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/formats/npz.h"
#include "pipeline/formats/tar.h"
#include "tests/pipeline/cifar_files.h"
#include "tests/pipeline/idx_files.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::CifarPickle;
using ::gandem::testing::CifarPlanes;
using ::gandem::testing::DescribeAsP;
using ::gandem::testing::IdxBytes;
using ::gandem::testing::NamedBytes;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteGzip;
using ::gandem::testing::WritePlain;
using ::gandem::testing::WriteTar;
using ::gandem::testing::WriteTree;
using ::gandem::testing::WriteZip;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ImageSourcesTest : public ::testing::Test {
 protected:
  void WriteGray(const std::string& name, uint8_t value, int64_t size = 2) {
    PixelImage image = {.height = size, .width = size};
    image.pixels.assign(static_cast<size_t>(size * size), value);
    ASSERT_OK(WritePng(dir_ / name, image));
  }
  void WriteNpz(const std::string& name, NamedTensor array) {
    ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(dir_ / name));
    ASSERT_OK(writer.Add(array));
    ASSERT_OK(writer.Finish());
  }
  absl::StatusOr<std::unique_ptr<ImageStore>> Open(const std::string& name) {
    return OpenSource(dir_ / name);
  }
  // Returns the bytes of an image, pixel by pixel.
  static std::vector<int> Bytes(const ImageStore& source, int64_t index) {
    const absl::StatusOr<DecodedImage> image = source.Read(index);
    EXPECT_OK(image);
    if (!image.ok()) return {};
    return {image->pixels.pixels.begin(), image->pixels.pixels.end()};
  }

  gandem::testing::TempDir dir_;
};

TEST(ByteValuesTest, QuantizingReturnsTheOriginalByte) {
  for (int b = 0; b < 256; ++b) EXPECT_EQ(QuantizePixel(kValueOfByte[b]), b);
}

TEST_F(ImageSourcesTest, EachKindOfSourceReturnsTheSameImages) {
  const std::vector<uint8_t> pixels = {0,  1,  2,  3,  4,   5,   6,   7,   8,
                                       50, 60, 70, 80, 253, 254, 255, 128, 127};
  const std::string png =
      *EncodePng({.channels = 3, .height = 2, .width = 3, .pixels = pixels});
  ASSERT_OK(CreateDirectories(dir_ / "folder"));
  ASSERT_OK(WriteFile(dir_ / "folder/a.png", png));
  ASSERT_OK_AND_ASSIGN(TarWriter tar, TarWriter::Create(dir_ / "x.tar"));
  ASSERT_OK(tar.Add("labels.txt", "no image"));
  ASSERT_OK(tar.Add("a.png", png));
  ASSERT_OK(tar.Finish());
  WriteNpz("x.npz",
           {.name = "images",
            .dtype = DType::kU8,
            .shape = {1, 2, 3, 3},
            .bytes = SharedBytes::Copy(std::as_bytes(std::span(pixels)))});
  for (const char* name : {"folder", "x.tar", "x.npz"}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const auto data, Open(name));
    EXPECT_EQ(data->size(), 1);
    EXPECT_EQ(ShapeOf(data->Read(0)->pixels),
              (ImageShape{.channels = 3, .height = 2, .width = 3}));
    EXPECT_THAT(Bytes(*data, 0), ElementsAreArray(pixels));
  }
  EXPECT_EQ(*(*Open("folder"))->ContentHash(),
            *(*Open("x.tar"))->ContentHash());
  EXPECT_EQ(*(*Open("x.npz"))->ContentHash(), *Sha256OfFile(dir_ / "x.npz"));
}

TEST_F(ImageSourcesTest, SubfoldersAreReadInTheOrderOfNames) {
  ASSERT_OK(CreateDirectories(dir_ / "b"));
  WriteGray("b/2.PNG", 2);
  WriteGray("b/1.png", 1);
  WriteGray("c.png", 3);
  WriteGray("a.png", 0);
  ASSERT_OK(WriteFile(dir_ / "dataset.json", "{}"));
  ASSERT_OK_AND_ASSIGN(const auto data, Open(""));
  ASSERT_EQ(data->size(), 4);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(Bytes(*data, i)[0], i);
}

TEST_F(ImageSourcesTest, ImagesEqualPillows) {
  const auto goldens = gandem::testing::ImageGoldens();
  int files = 0;
  for (const auto& [key, tensor] : goldens) {
    absl::string_view name = key;
    if (!absl::ConsumePrefix(&name, "plain.")) continue;
    SCOPED_TRACE(name);
    const SharedBytes& bytes = goldens.at(absl::StrCat("file.", name)).bytes;
    const absl::string_view file(reinterpret_cast<const char*>(bytes.data()),
                                 bytes.size());
    ASSERT_OK(WriteFile(dir_ / "a.png", file));
    ASSERT_OK_AND_ASSIGN(const auto source, Open(""));
    ASSERT_OK_AND_ASSIGN(const DecodedImage image,
                         source->DecodePlain(0, file));
    EXPECT_TRUE(WithChannels(image.pixels, 3) ==
                gandem::testing::GoldenImage(tensor));
    ASSERT_OK_AND_ASSIGN(const ImageShape shape, ShapeOfImage(file));
    EXPECT_EQ(ShapeOf(image.pixels), shape);
    ++files;
  }
  EXPECT_GT(files, 25);
}

TEST_F(ImageSourcesTest, OtherFormatsAndEmptySourcesAreReported) {
  ASSERT_OK(CreateDirectories(dir_ / "images"));
  EXPECT_THAT(Open("images"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("images' holds no images"),
                             HasSubstr("it is empty"))));
  ASSERT_OK(WriteFile(dir_ / "images/readme.txt", "x"));
  EXPECT_THAT(Open("images"), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("such as 'readme.txt'")));
  ASSERT_OK(WriteFile(dir_ / "images/b.GIF", "GIF89a"));
  // All unsupported images are listed, so that one message can name them.
  ASSERT_OK_AND_ASSIGN(const auto others, Open("images"));
  EXPECT_THAT(others->Read(0), StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("b.GIF"),
                                              HasSubstr("PNG, JPEG or WebP"))));
  ASSERT_OK(WriteFile(dir_ / "text", "x"));
  EXPECT_THAT(Open("text"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("text' is a file of another kind"),
                             HasSubstr("a folder of images, an .npz"))));
  WriteGray("one.png", 1);
  EXPECT_THAT(Open("one.png"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("one image: name its folder")));
  EXPECT_THAT(Open("none"), StatusIs(absl::StatusCode::kNotFound,
                                     HasSubstr("no such file or folder")));
}

// numpy.savez writes such files.
TEST_F(ImageSourcesTest, AnUncompressedArrayIsRead) {
  const PixelImage noise = NoiseImage(1, 30, 20, 1);  // five images of 6 x 20
  WriteNpz(
      "x.npz",
      {.name = "arr_0",
       .dtype = DType::kU8,
       .shape = {5, 6, 20, 1},
       .bytes = SharedBytes::Copy(std::as_bytes(std::span(noise.pixels)))});
  ASSERT_OK_AND_ASSIGN(const auto source, OpenSource(dir_ / "x.npz"));
  ASSERT_EQ(source->size(), 5);
  ASSERT_OK_AND_ASSIGN(const DecodedImage last, source->Read(4));
  EXPECT_TRUE(std::ranges::equal(last.pixels.pixels,
                                 std::span(noise.pixels).last(120)));
  EXPECT_EQ(*source->ContentHash(), *Sha256OfFile(dir_ / "x.npz"));

  ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(dir_ / "x.npz"));
  const std::string data(noise.pixels.begin(), noise.pixels.end());
  const size_t at = bytes.find(data);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 7] ^= 1;
  ASSERT_OK(WriteFile(dir_ / "x.npz", bytes));
  EXPECT_THAT(Open("x.npz"),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("x.npz"), HasSubstr("checksum"))));
}

TEST_F(ImageSourcesTest, ArraysThatAreNotImagesAreRefused) {
  const float values[4] = {};
  WriteNpz("x.npz",
           {.name = "arr_0",
            .dtype = DType::kF32,
            .shape = {1, 2, 2, 1},
            .bytes = SharedBytes::Copy(std::as_bytes(std::span(values)))});
  EXPECT_THAT(Open("x.npz"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("arr_0 is F32 [1, 2, 2, 1]; 8-bit images are "
                                 "U8 [N, height, width, 1 or 3]")));
}

// Images are the same in every storage: a run trains on the same bits in the
// same order.
class SameImagesTest : public ImageSourcesTest {
 protected:
  static constexpr int kSame = 10;

  SameImagesTest() {
    for (int i = 0; i < kSame; ++i) {
      images_.push_back(NoiseImage(3, 32, 32, static_cast<uint32_t>(i)));
      labels_.push_back(7 * i % 10);
    }
  }
  // Returns files named like those of dataset_tool.
  NamedBytes Files() const {
    NamedBytes files;
    for (int i = 0; i < kSame; ++i) {
      files.emplace_back(absl::StrCat("00000/img0000000", i, ".png"),
                         PngBytes(images_[i]));
    }
    return files;
  }
  std::string DatasetJson() const {
    std::string json = "{\"labels\": [";
    for (int i = 0; i < kSame; ++i) {
      absl::StrAppend(&json, i == 0 ? "" : ", ", "[\"00000/img0000000", i,
                      ".png\", ", labels_[i], "]");
    }
    return json + "]}";
  }
  std::string Batch(int first, int count) const {
    std::string batch;
    for (int i = first; i < first + count; ++i) {
      batch.push_back(static_cast<char>(labels_[i]));
      batch += CifarPlanes(images_[i]);
    }
    return batch;
  }
  std::string Pickle(int first, int count) const {
    std::string pixels;
    std::vector<int64_t> labels;
    for (int i = first; i < first + count; ++i) {
      pixels += CifarPlanes(images_[i]);
      labels.push_back(labels_[i]);
    }
    return CifarPickle(pixels, labels);
  }
  void ExpectTheSame(const std::string& path) {
    SCOPED_TRACE(path);
    ASSERT_OK_AND_ASSIGN(const auto source, OpenSource(path));
    ASSERT_EQ(source->size(), kSame);
    EXPECT_EQ(LookAtImages(*source)->channels(), 3);
    for (int i = 0; i < kSame; ++i) {
      ASSERT_OK_AND_ASSIGN(const DecodedImage image, source->Read(i));
      EXPECT_TRUE(image.pixels == images_[i]) << i;
      EXPECT_EQ(source->LabelOf(i), labels_[i]);
    }
    EXPECT_EQ(source->Fingerprint()->size(), 64u);
  }

  std::vector<PixelImage> images_;
  std::vector<int64_t> labels_;
};

TEST_F(SameImagesTest, FolderZipTarAndShardsAreEqual) {
  NamedBytes files = Files();
  files.emplace_back("dataset.json", DatasetJson());
  WriteTree(dir_ / "folder", files);
  ExpectTheSame(dir_ / "folder");
  // Archives are ordered by name, not by entry.
  std::ranges::reverse(files);
  WriteZip(dir_ / "a.zip", files);
  ExpectTheSame(dir_ / "a.zip");
  WriteTar(dir_ / "a.tar", files);
  ExpectTheSame(dir_ / "a.tar");
  const auto folder = *OpenSource(dir_ / "folder");
  for (const char* const archive : {"a.zip", "a.tar"}) {
    const auto source = *OpenSource(dir_ / archive);
    EXPECT_EQ(*source->ContentHash(), *folder->ContentHash());
    EXPECT_EQ(*source->Fingerprint(), *folder->Fingerprint());
  }
}

TEST_F(SameImagesTest, WebDatasetShardsAreRead) {
  for (int shard = 0; shard < 2; ++shard) {
    NamedBytes files;
    for (int i = 0; i < kSame / 2; ++i) {
      const int image = shard * kSame / 2 + i;
      files.emplace_back(absl::StrCat("00", i, ".cls"),
                         absl::StrCat(labels_[image], "\n"));
      files.emplace_back(absl::StrCat("00", i, ".png"),
                         PngBytes(images_[image]));
      files.emplace_back(absl::StrCat("00", i, ".txt"), "a caption");
    }
    WriteTar(dir_ / absl::StrCat("data-00000", shard, ".tar"), files);
  }
  ExpectTheSame(dir_ / "data-{000000..000001}.tar");
  EXPECT_THAT(
      OpenSource(dir_ / "data-{000000..000002}.tar"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("data-000002.tar")));
  EXPECT_THAT(OpenSource(dir_ / "data-{2..1}.tar"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("name-{000000..000009}.tar")));
}

// There are more shards than a process may have open files.
TEST_F(SameImagesTest, VeryManyShardsAreRead) {
  constexpr int kShards = 300;
  WriteTar(dir_ / "s-0000.tar", {{"a.png", PngBytes(NoiseImage(1, 1, 1, 0))}});
  const std::string shard = *ReadFile(dir_ / "s-0000.tar");
  for (int i = 1; i < kShards; ++i) {
    ASSERT_OK(WriteFile(dir_ / absl::StrFormat("s-%04d.tar", i), shard));
  }
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto source = OpenSource(dir_ / "s-{0000..0299}.tar");
  EXPECT_OK(source);
  if (source.ok()) {
    EXPECT_EQ((*source)->size(), kShards);
    EXPECT_EQ((*source)->kind(), "300 tar shards of images");
    EXPECT_OK((*source)->Read(0));
    EXPECT_OK((*source)->Read(kShards - 1));
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(SameImagesTest, CifarFilesAreRead) {
  NamedBytes binary;
  NamedBytes python;
  for (int i = 0; i < 5; ++i) {
    binary.emplace_back(
        absl::StrCat("cifar-10-batches-bin/data_batch_", i + 1, ".bin"),
        Batch(2 * i, 2));
    python.emplace_back(absl::StrCat("cifar-10-batches-py/data_batch_", i + 1),
                        Pickle(2 * i, 2));
  }
  WriteTree(dir_ / "bin", binary);
  ExpectTheSame(dir_ / "bin/cifar-10-batches-bin");
  ExpectTheSame(dir_ / "bin");
  WriteTree(dir_ / "py", python);
  ExpectTheSame(dir_ / "py/cifar-10-batches-py");
  for (const auto& [name, files] :
       {std::pair("b.tar.gz", binary), std::pair("p.tgz", python)}) {
    WriteTar(dir_ / "cifar.tar", files);
    WriteGzip(dir_ / name, *ReadFile(dir_ / "cifar.tar"));
    ExpectTheSame(dir_ / name);
  }
  const auto source = *OpenSource(dir_ / "bin");
  EXPECT_EQ(source->class_names()[9], "truck");
  EXPECT_EQ(DescribeAsP(*source),
            "10 images, 32 x 32, RGB, 10 classes: CIFAR-10, binary version P");
}

TEST_F(SameImagesTest, FiveKindsOfSourcesGiveTheSameStream) {
  NamedBytes files = Files();
  files.emplace_back("dataset.json", DatasetJson());
  WriteTree(dir_ / "folder", files);
  WriteZip(dir_ / "a.zip", files);
  WriteTar(dir_ / "a.tar", files);
  NamedBytes cifar;
  for (int i = 0; i < 5; ++i) {
    cifar.emplace_back(absl::StrCat("data_batch_", i + 1, ".bin"),
                       Batch(2 * i, 2));
  }
  WriteTree(dir_ / "bin", cifar);
  std::vector<float> first;
  for (const char* const name : {"folder", "a.zip", "a.tar", "bin"}) {
    const auto data = *FittedImages::Create(*OpenSource(dir_ / name),
                                            {.size = 24,
                                             .channels = 3,
                                             .crop = CropPlace::kRandom,
                                             .kernel = ResizeKernel::kBicubic,
                                             .flip = true});
    std::vector<float> stream;
    for (int64_t number = 0; number < 2 * kSame; ++number) {
      std::vector<float> values(data->shape().NumValues());
      stream.push_back(static_cast<float>(*data->ReadSample(
          number % kSame, {.seed = 1, .number = number}, values)));
      stream.insert(stream.end(), values.begin(), values.end());
    }
    if (first.empty()) first = stream;
    EXPECT_TRUE(stream == first) << name;
  }
}

TEST_F(SameImagesTest, InvalidCifarFilesAreRefused) {
  WriteTree(dir_ / "cut", {{"data_batch_1.bin", Batch(0, 1).substr(1)}});
  EXPECT_THAT(OpenSource(dir_ / "cut"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("data_batch_1.bin"),
                             HasSubstr("records of 3073"))));
  WriteTree(dir_ / "few", {{"data_batch_1.bin", Batch(0, 1)}});
  EXPECT_THAT(
      OpenSource(dir_ / "few"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("data_batch_2.bin")));
  WriteTree(dir_ / "bad", {{"data_batch_1", "\x80\x02}."}});
  EXPECT_THAT(OpenSource(dir_ / "bad"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("data_batch_1"),
                             HasSubstr("it has no 'data'"))));
  WriteTar(dir_ / "other.tar", {{"a.png", PngBytes(images_[0])}});
  WriteGzip(dir_ / "other.tar.gz", *ReadFile(dir_ / "other.tar"));
  EXPECT_THAT(OpenSource(dir_ / "other.tar.gz"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unpack it and name the folder")));
}

TEST_F(SameImagesTest, LabelsAreReadFromFoldersOrCsv) {
  const std::string png = PngBytes(images_[0]);
  WriteTree(dir_ / "classes",
            {{"b/1.png", png}, {"b/2.png", png}, {"a/9.png", png}});
  const auto classes = *OpenSource(dir_ / "classes");
  EXPECT_THAT(classes->class_names(), ElementsAre("a", "b"));
  EXPECT_EQ(classes->LabelOf(0), 0);
  EXPECT_EQ(classes->LabelOf(2), 1);
  EXPECT_EQ(NumClasses(*classes), 2);
  // One more folder contains all of them.
  WriteTree(dir_ / "around", {{"all/b/1.png", png}, {"all/a/9.png", png}});
  EXPECT_EQ(NumClasses(**OpenSource(dir_ / "around")), 2);
  // With an image outside of the folders there are no classes.
  WriteTree(dir_ / "classes", {{"0.png", png}});
  EXPECT_EQ((*OpenSource(dir_ / "classes"))->LabelOf(0), kNoLabel);

  WriteTree(dir_ / "csv",
            {{"x/1.png", png},
             {"2.png", png},
             {"labels.csv", "file,label\nx/1.png,cat\n2.png,\"a dog\"\n"}});
  const auto csv = *OpenSource(dir_ / "csv");
  EXPECT_THAT(csv->class_names(), ElementsAre("a dog", "cat"));
  EXPECT_EQ(csv->LabelOf(0), 0);
  EXPECT_EQ(csv->LabelOf(1), 1);
  // The source opens without labels, and the description gives the reason.
  WriteTree(dir_ / "csv", {{"3.png", png}});
  EXPECT_THAT(DescribeAsP(**OpenSource(dir_ / "csv")),
              AllOf(HasSubstr("3 images, 32 x 32, RGB, no labels: a folder"),
                    HasSubstr("P; its labels are ignored: "),
                    HasSubstr("labels.csv has no label for '3.png'")));
}

TEST_F(SameImagesTest, SpecialFilesInAFolderAreNamed) {
  const std::string png = PngBytes(images_[0]);
  WriteTree(dir_ / "pipe", {{"1.png", png}, {".hidden/2.png", "x"}});
  ASSERT_EQ(mkfifo(std::string(dir_ / "pipe/.hidden/3.png").c_str(), 0600), 0);
  EXPECT_OK(OpenSource(dir_ / "pipe"));
  ASSERT_EQ(mkfifo(std::string(dir_ / "pipe/3.png").c_str(), 0600), 0);
  EXPECT_THAT(
      OpenSource(dir_ / "pipe"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("pipe/3.png"), HasSubstr("is a named pipe"))));
  WriteTree(dir_ / "loop", {{"1.png", png}});
  std::filesystem::create_symlink("2.png", std::string(dir_ / "loop/2.png"));
  EXPECT_THAT(OpenSource(dir_ / "loop"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("loop/2.png"), HasSubstr("circle"))));
}

TEST_F(SameImagesTest, AnUnreadableImageIsNamed) {
  WriteZip(dir_ / "a.zip", {{"1.png", PngBytes(images_[0])}, {"2.png", "x"}});
  const auto zip = *OpenSource(dir_ / "a.zip");
  EXPECT_OK(zip->Read(0));
  EXPECT_THAT(zip->Read(1), StatusIs(absl::StatusCode::kDataLoss,
                                     HasSubstr("a.zip:2.png: ")));
}

TEST_F(ImageSourcesTest, IdxFilesAreReadWithTheLabelsBesideThem) {
  ASSERT_OK(CreateDirectories(dir_ / "mnist"));
  const std::string images = WritePlain(dir_ / "mnist/train-images-idx3-ubyte",
                                        IdxBytes({2, 1, 2}, {0, 255, 1, 2}));
  for (const std::string& path : {images, std::string(dir_ / "mnist")}) {
    const auto alone = *OpenSource(path);
    EXPECT_EQ(alone->LabelOf(1), kNoLabel);
  }
  WritePlain(dir_ / "mnist/train-labels-idx1-ubyte", IdxBytes({2}, {3, 4}));
  for (const std::string& path : {images, std::string(dir_ / "mnist")}) {
    const auto source = *OpenSource(path);
    EXPECT_EQ(source->LabelOf(1), 4);
    EXPECT_EQ(*source->ContentHash(), *Sha256OfFile(images));
    EXPECT_EQ(DescribeAsP(*source),
              "2 images, 1 x 2, gray, 5 classes: IDX files P");
  }
  WritePlain(dir_ / "mnist/train-labels-idx1-ubyte", IdxBytes({3}, {3, 4, 5}));
  const auto unlabeled = *OpenSource(images);
  EXPECT_EQ(unlabeled->LabelOf(0), kNoLabel);
  EXPECT_THAT(unlabeled->info().unused_labels,
              AllOf(HasSubstr("the 2 images"), HasSubstr("found 3")));
}

TEST_F(ImageSourcesTest, NamesInArchivesAreNormalized) {
  const std::string png = PngBytes(NoiseImage(1, 2, 2, 1));
  WriteZip(dir_ / "a.zip", {{"./1.png", png}, {"1.png", png}});
  EXPECT_THAT(Open("a.zip"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("a.zip: damaged zip archive: '1.png' is "
                                 "there twice, as './1.png' and '1.png'")));
  WriteZip(dir_ / "a.zip", {{"../1.png", png}});
  EXPECT_THAT(Open("a.zip"), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("a.zip: the member '../1.png' "
                                                "leads out")));
  WriteZip(dir_ / "a.zip", {{"./1.png", png}});
  EXPECT_EQ((*Open("a.zip"))->KeyOf(0), "1.png");
  for (const char* const separator : {"/", "\\"}) {
    WriteZip(dir_ / "a.zip", {{absl::StrCat("a", separator), ""},
                              {absl::StrCat("a", separator, "1.png"), png},
                              {absl::StrCat("b", separator, "1.png"), png}});
    EXPECT_THAT((*Open("a.zip"))->class_names(), ElementsAre("a", "b"));
  }
}

TEST_F(ImageSourcesTest, OnlyNamedFilesHaveMembers) {
  WriteNpz("x.npz",
           {.name = "arr_0",
            .dtype = DType::kU8,
            .shape = {1, 2, 2, 1},
            .bytes = SharedBytes::Copy(std::as_bytes(std::span("abc", 4)))});
  EXPECT_THAT(OpenSource(dir_ / "x.npz", {.member = "mask.png"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.member mask.png")));
}

TEST_F(ImageSourcesTest, TheDescriptionShowsWhatDiffers) {
  WriteTree(dir_ / "odd", {{"1.png", PngBytes(NoiseImage(1, 3, 5, 1))},
                           {"2.png", PngBytes(NoiseImage(3, 4, 5, 1))}});
  EXPECT_EQ(DescribeAsP(**OpenSource(dir_ / "odd")),
            "2 images, 3 to 4 x 5, RGB and gray, no labels: a folder of images "
            "P");
}

}  // namespace
}  // namespace gandem
