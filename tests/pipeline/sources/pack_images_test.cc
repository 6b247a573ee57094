// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/pack_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/files/file.h"
#include "pipeline/fitted_images.h"
#include "pipeline/sources/image_sources.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::NamedBytes;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteTree;
using ::gandem::testing::WriteZip;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kPacked = 150;

class PackImagesTest : public ::testing::Test {
 protected:
  PackImagesTest() {
    for (int i = 0; i < kPacked; ++i) {
      files_.emplace_back(
          absl::StrCat(i % 3 == 0 ? "cat/" : "a dog/", i, ".png"),
          PngBytes(
              NoiseImage(3, 8 + i % 5, 8 + i % 3, static_cast<uint32_t>(i))));
    }
    WriteTree(dir_ / "photos", files_);
    options_.folder = dir_ / "packed";
    options_.shard_bytes = 8000;
  }

  absl::StatusOr<PackedImages> Pack(const std::string& source) {
    auto store = OpenSource(source);
    if (!store.ok()) return store.status();
    return PackImages(**store, options_,
                      [](int64_t) { return absl::OkStatus(); });
  }
  // Returns the contents of the files in the packed folder, by name.
  std::map<std::string, std::string> Contents(const std::string& folder) {
    std::map<std::string, std::string> contents;
    const std::vector<std::string> names = *ListDirectory(folder);
    for (const std::string& name : names) {
      contents[name] = *ReadFile(absl::StrCat(folder, "/", name));
    }
    return contents;
  }
  // Returns labels and pixels of two epochs.
  static std::vector<float> Stream(const std::string& source, Fitting fitting) {
    const auto data = *FittedImages::Create(*OpenSource(source), fitting);
    std::vector<float> stream;
    for (int64_t n = 0; n < 2 * data->size(); ++n) {
      std::vector<float> values(data->shape().NumValues());
      stream.push_back(static_cast<float>(*data->ReadSample(
          n % data->size(), {.seed = 1, .number = n}, values)));
      stream.insert(stream.end(), values.begin(), values.end());
    }
    return stream;
  }
  static Fitting Cropped(int64_t size) {
    return {.size = size,
            .channels = 3,
            .crop = CropPlace::kCenter,
            .kernel = ResizeKernel::kBicubic,
            .flip = true};
  }

  const gandem::testing::TempDir dir_;
  NamedBytes files_;
  PackOptions options_;
};

TEST_F(PackImagesTest, TheShardsGiveTheSameStream) {
  ASSERT_OK_AND_ASSIGN(const PackedImages packed, Pack(dir_ / "photos"));
  EXPECT_EQ(packed.images, kPacked);
  EXPECT_GT(packed.shards, 3);
  EXPECT_EQ(packed.kept_shards, 0);
  ASSERT_OK_AND_ASSIGN(const std::string shards,
                       ShardsOfFolder(options_.folder));
  EXPECT_EQ(shards, absl::StrFormat("%s/shard-{000000..%06d}.tar",
                                    options_.folder, packed.shards - 1));
  const auto photos = *OpenSource(dir_ / "photos");
  for (const std::string& source : {shards, options_.folder}) {
    const auto store = *OpenSource(source);
    EXPECT_EQ(store->size(), kPacked);
    EXPECT_THAT(store->class_names(), ElementsAre("a dog", "cat"));
    EXPECT_EQ(*store->ContentHash(), *photos->ContentHash());
    EXPECT_EQ(std::ssize(store->info().units), packed.shards);
    EXPECT_TRUE(Stream(source, Cropped(6)) ==
                Stream(dir_ / "photos", Cropped(6)));
  }
}

TEST_F(PackImagesTest, OtherProgramsReadTheShards) {
  options_.shard_bytes = 1 << 20;
  ASSERT_OK(Pack(dir_ / "photos"));
  const std::string shard = options_.folder + "/shard-000000.tar";
  ASSERT_EQ(
      std::system(absl::StrCat("tar xf ", shard, " -C ", dir_.path()).c_str()),
      0);
  // "a dog/1.png" comes first and has class 0.
  EXPECT_EQ(*ReadFile(dir_ / "000000000.png"), files_[1].second);
  EXPECT_EQ(*ReadFile(dir_ / "000000000.cls"), "0\n");
  EXPECT_EQ(*ReadFile(dir_ / "000000149.cls"), "1\n");
}

TEST_F(PackImagesTest, TheIndexIsOptional) {
  options_.shard_bytes = 1 << 20;
  ASSERT_OK(Pack(dir_ / "photos"));
  const std::string shard = options_.folder + "/shard-000000.tar";
  const auto indexed = *OpenSource(shard);
  const std::string bytes = *ReadFile(shard);
  // Truncates the file at the index, whose header begins with its name.
  ASSERT_OK(WriteFile(shard, bytes.substr(0, bytes.find(".gandem-index")) +
                                 std::string(1024, '\0')));
  const auto walked = *OpenSource(shard);
  ASSERT_EQ(walked->size(), indexed->size());
  EXPECT_EQ(*walked->ContentHash(), *indexed->ContentHash());
  EXPECT_EQ(*walked->Fingerprint(), *indexed->Fingerprint());
}

TEST_F(PackImagesTest, TheNumberOfThreadsChangesNothing) {
  ASSERT_OK(Pack(dir_ / "photos"));
  const auto first = Contents(options_.folder);
  for (const int threads : {2, 5}) {
    options_.folder = dir_ / absl::StrCat("packed", threads);
    options_.num_threads = threads;
    ASSERT_OK(Pack(dir_ / "photos"));
    EXPECT_TRUE(Contents(options_.folder) == first) << threads;
  }
}

TEST_F(PackImagesTest, AnInterruptedPackIsContinued) {
  ASSERT_OK_AND_ASSIGN(const PackedImages all, Pack(dir_ / "photos"));
  const auto whole = Contents(options_.folder);
  // Packing is interrupted in the middle.
  options_.folder = dir_ / "parts";
  const auto store = *OpenSource(dir_ / "photos");
  EXPECT_THAT(PackImages(*store, options_,
                         [](int64_t done) {
                           return done < 70 ? absl::OkStatus()
                                            : absl::CancelledError("stop");
                         }),
              StatusIs(absl::StatusCode::kCancelled, "stop"));
  EXPECT_THAT(OpenSource(options_.folder),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("not packed completely")));
  const auto parts = Contents(options_.folder);
  const auto shards = static_cast<int64_t>(parts.size()) - 1;
  EXPECT_GT(shards, 0);
  EXPECT_FALSE(parts.contains(absl::StrFormat("shard-%06d.tar.tmp", shards)));
  ASSERT_OK_AND_ASSIGN(const PackedImages rest, Pack(dir_ / "photos"));
  EXPECT_GT(rest.kept_shards, 0);
  EXPECT_LT(rest.kept_shards, all.shards);
  EXPECT_EQ(rest.shards, all.shards);
  EXPECT_TRUE(Contents(options_.folder) == whole);
  ASSERT_OK_AND_ASSIGN(const PackedImages again, Pack(dir_ / "photos"));
  EXPECT_EQ(again.kept_shards, all.shards);
  EXPECT_TRUE(Contents(options_.folder) == whole);
}

TEST_F(PackImagesTest, AFolderWithOtherFilesIsRefused) {
  ASSERT_OK(Pack(dir_ / "photos"));
  options_.shard_bytes = 9000;
  EXPECT_THAT(Pack(dir_ / "photos"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("holds another pack"),
                             HasSubstr("shard_bytes 8000"))));
  options_.folder = dir_ / "photos";
  EXPECT_THAT(Pack(dir_ / "photos"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("is not empty ('a dog')"),
                             HasSubstr("name another folder"))));
  ASSERT_OK(WriteFile(dir_ / "packed/pack.json", "{}"));
  EXPECT_THAT(OpenSource(dir_ / "packed"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("pack.json")));
}

TEST_F(PackImagesTest, ImagesAreResizedOnceForAllEpochs) {
  options_.resize = 6;
  ASSERT_OK(Pack(dir_ / "photos"));
  const auto store = *OpenSource(options_.folder);
  EXPECT_EQ(store->Read(0)->pixels.width, 6);
  EXPECT_TRUE(Stream(options_.folder, Cropped(6)) ==
              Stream(dir_ / "photos", Cropped(6)));
  options_.crop = false;
  options_.folder = dir_ / "stretched";
  ASSERT_OK(Pack(dir_ / "photos"));
  Fitting stretched = Cropped(6);
  stretched.crop = CropPlace::kAll;
  EXPECT_TRUE(Stream(options_.folder, stretched) ==
              Stream(dir_ / "photos", stretched));
}

TEST_F(PackImagesTest, ImagesInMemoryAreWrittenAsPng) {
  WriteTree(dir_ / "bin", {{"data_batch_1.bin", std::string(3073, '\1')},
                           {"data_batch_2.bin", std::string(3073, '\2')},
                           {"data_batch_3.bin", std::string(3073, '\3')},
                           {"data_batch_4.bin", std::string(3073, '\4')},
                           {"data_batch_5.bin", std::string(3073, '\5')}});
  ASSERT_OK(Pack(dir_ / "bin"));
  const auto store = *OpenSource(options_.folder);
  ASSERT_EQ(store->size(), 5);
  EXPECT_EQ(store->LabelOf(4), 5);
  EXPECT_EQ(store->class_names()[9], "truck");
  EXPECT_EQ(store->Read(4)->pixels,
            (*OpenSource(dir_ / "bin"))->Read(4)->pixels);
}

TEST_F(PackImagesTest, ChangedBytesAreDetectedWhenTheyAreRead) {
  options_.shard_bytes = 1 << 20;
  ASSERT_OK(Pack(dir_ / "photos"));
  const std::string path = options_.folder + "/shard-000000.tar";
  std::string shard = *ReadFile(path);
  shard[shard.find("IDAT") + 20] ^= 1;
  ASSERT_OK(WriteFile(path, shard));
  const auto store = *OpenSource(options_.folder);
  EXPECT_THAT(store->Read(0),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("shard-000000.tar:000000000.png"),
                             HasSubstr("CRC32C"))));
  EXPECT_OK(store->Read(1));
}

TEST_F(PackImagesTest, ShardsOfTwoPacksAreRefused) {
  ASSERT_OK(Pack(dir_ / "photos"));
  const std::string second = options_.folder + "/shard-000001.tar";
  const std::string whole = *ReadFile(second);
  gandem::testing::WriteTar(second, {{"1.png", files_[0].second}});
  EXPECT_THAT(
      OpenSource(options_.folder),
      StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("shard-000001.tar"),
                                                  HasSubstr("has no index"))));
  ASSERT_OK(WriteFile(second, whole.substr(0, whole.size() - 2000) +
                                  whole.substr(whole.size() - 1500)));
  EXPECT_THAT(OpenSource(options_.folder),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its index")));
}

TEST_F(PackImagesTest, AnUnreadableImageIsNamed) {
  WriteTree(dir_ / "photos", {{"cat/9999.png", "<html>"}});
  EXPECT_THAT(Pack(dir_ / "photos"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("cat/9999.png: it is a web page")));
}

TEST(PackRecordTest, AWrittenRecordIsReadBack) {
  const PackRecord record = {.settings = "a \"b\"", .images = 3, .shards = 2};
  EXPECT_EQ(ParsePackRecord(FormatPackRecord(record)), record);
  for (const char* const text :
       {"", "[]", "{}",
        R"({"format": "gandem pack 2", "settings": "", "images": 1,
            "shards": 1})",
        R"({"format": "gandem pack 1", "settings": "", "images": 0,
            "shards": 1})",
        R"({"format": "gandem pack 1", "settings": "", "images": -1,
            "shards": 1})",
        R"({"format": "gandem pack 1", "settings": 1, "images": 1,
            "shards": 1})",
        R"({"format": "gandem pack 1", "settings": "", "images": 1,
            "shards": 1000001})"}) {
    EXPECT_FALSE(ParsePackRecord(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace gandem
