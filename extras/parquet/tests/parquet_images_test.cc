// SPDX-License-Identifier: Apache-2.0
//
// Tests with the real data_worker, on files from pyarrow (parquet_goldens.py).
#include "extras/parquet/parquet_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/process/thread.h"
#include "pipeline/random_access_file.h"
#include "pipeline/sources/image_sources.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::DescribeAsP;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr int64_t kHubImages = 50;
constexpr const char* kHubShard = "hub/data/train-00000-of-00002.parquet";

std::string ParquetGolden(absl::string_view name) {
  const char* const source = std::getenv("GANDEM_SOURCE_DIR");
  return absl::StrCat(source == nullptr ? "." : source,
                      "/extras/parquet/tests/goldens/", name);
}

// Process IDs of child processes called data_worker.
std::vector<pid_t> DataWorkerPids() {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto stat = ReadFile(entry.path() / "stat");
    if (!stat.ok() || stat->find("(data_worker) ") == std::string::npos) {
      continue;
    }
    int pid = 0;
    char state = 0;
    int parent = 0;
    if (std::sscanf(stat->c_str(), "%d (data_worker) %c %d", &pid, &state,
                    &parent) == 3 &&
        parent == getpid() && state != 'Z') {
      pids.push_back(pid);
    }
  }
  return pids;
}

void ExpectFault(absl::string_view name, absl::StatusCode code,
                 const std::string& what) {
  EXPECT_THAT(
      OpenSource(ParquetGolden(name)),
      StatusIs(code, AllOf(HasSubstr(std::string(name)), HasSubstr(what))));
}

TEST(ParquetImagesTest, ARepositoryOfTheHub) {
  ASSERT_OK_AND_ASSIGN(const auto hub, OpenSource(ParquetGolden("hub")));
  ASSERT_EQ(hub->size(), kHubImages);
  EXPECT_EQ(hub->kind(),
            "2 Parquet shards of the split train (there are also test)");
  EXPECT_THAT(hub->class_names(), ElementsAre("cat", "dog", "fox"));
  for (int64_t i = 0; i < kHubImages; ++i) EXPECT_EQ(hub->LabelOf(i), i % 3);
  EXPECT_THAT(hub->NameOf(26), EndsWith("train-00001-of-00002.parquet: row 1 "
                                        "(img00000026.png)"));
  EXPECT_EQ(DescribeAsP(*hub),
            "50 images, 32 x 32, RGB, 3 classes: 2 Parquet shards of the split "
            "train (there are also test) P");
}

TEST(ParquetImagesTest, TheSameImagesAsInAFolder) {
  ASSERT_OK_AND_ASSIGN(const auto hub, OpenSource(ParquetGolden("hub")));
  const TempDir dir;
  for (int64_t i = kHubImages - 1; i >= 0; --i) {
    ASSERT_OK_AND_ASSIGN(const std::string bytes, hub->Fetch(i));
    ASSERT_OK(WriteFile(dir / absl::StrCat(i / 10, i % 10, ".png"), bytes));
  }
  ASSERT_OK_AND_ASSIGN(const auto folder, OpenSource(dir.path()));
  EXPECT_EQ(*hub->ContentHash(), *folder->ContentHash());
  for (const int64_t i : {0, 9, 10, 24, 25, 49}) {
    EXPECT_TRUE(hub->Read(i)->pixels == folder->Read(i)->pixels) << i;
  }
  // The fingerprint depends only on the images.
  const std::string fingerprint = *hub->Fingerprint();
  EXPECT_EQ(*(*OpenSource(ParquetGolden("hub/data")))->Fingerprint(),
            fingerprint);
  EXPECT_NE(*(*OpenSource(ParquetGolden(kHubShard)))->Fingerprint(),
            fingerprint);
}

TEST(ParquetImagesTest, PlainColumns) {
  ASSERT_OK_AND_ASSIGN(const auto plain,
                       OpenSource(ParquetGolden("plain.parquet")));
  ASSERT_EQ(plain->size(), 4);
  EXPECT_EQ(plain->kind(), "a Parquet file");
  const int64_t labels[] = {3, 1, 0, 2};
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plain->LabelOf(i), labels[i]);
    ASSERT_OK_AND_ASSIGN(const DecodedImage image, plain->Read(i));
    EXPECT_EQ(image.pixels.pixels, std::vector<uint8_t>(12, 10 * i));
  }
  EXPECT_THAT(plain->class_names(), ElementsAre());
  EXPECT_THAT(plain->NameOf(3), EndsWith("plain.parquet: row 3"));
  for (const char* const name : {"large.parquet", "unlabeled.parquet"}) {
    ASSERT_OK_AND_ASSIGN(const auto other, OpenSource(ParquetGolden(name)));
    EXPECT_EQ(*other->ContentHash(), *plain->ContentHash());
    EXPECT_EQ(other->LabelOf(0), kNoLabel);
  }
}

TEST(ParquetImagesTest, AnyThreadReadsAnyImage) {
  constexpr int kThreads = 6;
  // The cache holds one row group, so row groups are read repeatedly.
  ASSERT_OK_AND_ASSIGN(
      const auto hub,
      OpenParquet(*Locate(ParquetGolden("hub")), StartDataWorker, 1));
  std::vector<std::string> images;
  for (int64_t i = 0; i < kHubImages; ++i) images.push_back(*hub->Fetch(i));
  {
    std::vector<Thread> threads;
    for (int64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back("reader", [&, t] {
        for (int64_t n = 0; n < 2 * kHubImages; ++n) {
          const int64_t i = (n * 7 + t * 13) % kHubImages;
          const auto bytes = hub->Fetch(i);
          EXPECT_OK(bytes);
          EXPECT_TRUE(bytes.value_or("") == images[i]) << i;
        }
      });
    }
  }
  EXPECT_LE(DataWorkerPids().size(), size_t{kMostDataWorkers});
}

TEST(ParquetImagesTest, KilledWorkersAreReplaced) {
  ASSERT_OK_AND_ASSIGN(
      const auto hub,
      OpenParquet(*Locate(ParquetGolden("hub")), StartDataWorker, 1));
  const std::string before = *hub->ContentHash();
  const std::vector<pid_t> pids = DataWorkerPids();
  ASSERT_FALSE(pids.empty());
  for (const pid_t pid : pids) ASSERT_EQ(kill(pid, SIGKILL), 0);
  EXPECT_EQ(*hub->ContentHash(), before);
  for (const pid_t pid : DataWorkerPids()) {
    EXPECT_THAT(pids, ::testing::Not(::testing::Contains(pid)));
  }
}

TEST(ParquetImagesTest, WorkersEndWithTheirDataSet) {
  auto hub = *OpenSource(ParquetGolden("hub"));
  EXPECT_FALSE(DataWorkerPids().empty());
  hub = nullptr;
  EXPECT_TRUE(DataWorkerPids().empty());
}

TEST(ParquetImagesTest, FilesWithoutImages) {
  constexpr auto kInvalidFile = absl::StatusCode::kInvalidArgument;
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  ExpectFault("text.parquet", kInvalidFile,
              "it has the columns 'text' (string), 'n' (int64)");
  ExpectFault("list.parquet", kInvalidFile, "'image' (list<");
  ExpectFault("empty.parquet", kInvalidFile, "has no rows");
  EXPECT_THAT((*OpenSource(ParquetGolden("path_only.parquet")))->Fetch(0),
              StatusIs(kLoss, HasSubstr("store the image's bytes")));
}

// The other rows of its row group are readable.
TEST(ParquetImagesTest, ARowWithoutAnImageIsOneBadImage) {
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenSource(ParquetGolden("null_image.parquet")));
  EXPECT_OK(source->Read(0));
  const absl::Status missing = source->Read(1).status();
  EXPECT_THAT(missing, StatusIs(absl::StatusCode::kDataLoss,
                                HasSubstr("null_image.parquet: row 1: it has "
                                          "no image (the value is null")));
  EXPECT_TRUE(IsUnreadable(missing));
}

// The images are readable without labels; a recipe without classes works.
void ExpectUnusedLabels(const std::string& path, const std::string& why) {
  ASSERT_OK_AND_ASSIGN(const auto source, OpenSource(path));
  EXPECT_THAT(source->info().unused_labels, HasSubstr(why));
  EXPECT_THAT(source->class_names(), ElementsAre());
  for (int64_t i = 0; i < source->size(); ++i) {
    EXPECT_EQ(source->LabelOf(i), kNoLabel) << i;
    EXPECT_OK(source->Read(i)) << i;
  }
}

TEST(ParquetImagesTest, UnusableLabels) {
  const std::pair<const char*, const char*> kFaults[] = {
      {"null_label.parquet", "row 1 has no 'label'"},
      {"negative_label.parquet", "'label' is negative in 1 rows"},
      {"label_without_name.parquet",
       "row 3 has 'label' 3, but the file names 3 classes"},
      {"float_label.parquet", "'label' is of the type double"}};
  for (const auto& [name, why] : kFaults) {
    ExpectUnusedLabels(ParquetGolden(name), absl::StrCat(name, "': ", why));
  }
}

// The classes are the distinct texts of all shards in sorted order.
TEST(ParquetImagesTest, TextLabels) {
  const TempDir dir;
  const char* const names[] = {"text_label.parquet",
                               "dictionary_label.parquet"};
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(WriteFile(dir / absl::StrCat(i, ".parquet"),
                        *ReadFile(ParquetGolden(names[i]))));
  }
  ASSERT_OK_AND_ASSIGN(const auto source, OpenSource(dir.path()));
  EXPECT_THAT(source->class_names(), ElementsAre("ant", "cat", "dog", "fox"));
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < source->size(); ++i) {
    labels.push_back(source->LabelOf(i));
  }
  EXPECT_THAT(labels, ElementsAre(2, 1, 2, 1, 3, 2, 0, 3));
}

TEST(ParquetImagesTest, ShardsThatDoNotFitTogether) {
  const TempDir dir;
  const auto put = [&](const char* name, const char* golden) {
    ASSERT_OK(WriteFile(dir / name, *ReadFile(ParquetGolden(golden))));
  };
  put("0.parquet", "plain.parquet");
  put("1.parquet", "large.parquet");
  ExpectUnusedLabels(dir.path(), "1.parquet' do not both have labels");
  put("1.parquet", kHubShard);
  ExpectUnusedLabels(dir.path(), "1.parquet' name their classes differently");
  // A shard without rows fits any data set.
  put("1.parquet", "empty.parquet");
  EXPECT_EQ((*OpenSource(dir.path()))->size(), 4);
}

TEST(ParquetImagesTest, EncryptedTruncatedAndForeignFiles) {
  const TempDir dir;
  const std::string whole = *ReadFile(ParquetGolden("plain.parquet"));
  const std::string path = dir / "a.parquet";
  const auto open = [&](absl::string_view bytes) {
    EXPECT_OK(WriteFile(path, bytes));
    return OpenSource(path).status();
  };
  std::string encrypted = whole;
  encrypted.replace(encrypted.size() - 4, 4, "PARE");
  EXPECT_THAT(open(encrypted), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("it is encrypted")));
  for (const size_t size :
       {size_t{0}, size_t{3}, size_t{11}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_THAT(open(whole.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a.parquet")))
        << size;
  }
  EXPECT_THAT(open("<html>log in</html>"),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(ParquetImagesTest, AFileThatChangesDuringTheRun) {
  const TempDir dir;
  const std::string whole = *ReadFile(ParquetGolden(kHubShard));
  ASSERT_OK(WriteFile(dir / "a.parquet", whole));
  ASSERT_OK_AND_ASSIGN(const auto source, OpenSource(dir / "a.parquet"));
  std::filesystem::resize_file(dir / "a.parquet", 100);
  EXPECT_THAT(source->Fetch(0),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a.parquet"), HasSubstr("cut off"))));
}

// Each file is read or refused by name; none crashes or hangs the test.
TEST(ParquetImagesTest, TwoHundredDamagedFiles) {
  const std::string whole = *ReadFile(ParquetGolden("plain.parquet"));
  uint32_t state = 1;
  const auto draw = [&state](size_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
  };
  DataWorkerPool pool;
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = whole;
    // Half of the files are damaged in the footer (the last third).
    const size_t from = i % 2 == 0 ? 2 * bytes.size() / 3 : 0;
    for (size_t flips = 1 + draw(3); flips > 0; --flips) {
      bytes[from + draw(bytes.size() - from)] ^=
          static_cast<char>(1 << draw(8));
    }
    const ShardFile shard = {.number = i,
                             .file = FileInMemory("damaged.parquet", bytes)};
    const auto opened = pool.Open(shard);
    absl::Status status = opened.status();
    for (size_t k = 0; status.ok() && k < opened->row_groups.size(); ++k) {
      status =
          pool.Read(shard, static_cast<int64_t>(k), opened->row_groups[k].rows)
              .status();
    }
    if (status.ok()) continue;
    ++refused;
    EXPECT_THAT(std::string(status.message()), HasSubstr("damaged.parquet"));
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace gandem
