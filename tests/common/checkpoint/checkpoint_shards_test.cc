// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/checkpoint_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SplitStateTest, TheLargestPartGoesToTheRankWithTheFewestBytes) {
  const std::vector<StatePart> parts = {
      {"small", 1}, {"large", 9}, {"b", 5}, {"a", 5}};
  // large -> 0, a -> 1, b -> 1 (5 bytes against 9), small -> 0.
  EXPECT_THAT(SplitState(parts, 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(SplitState(parts, 1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(SplitState(parts, 6), ElementsAre(3, 0, 2, 1));
  EXPECT_THAT(SplitState({}, 3), ElementsAre());
}

TEST(SplitStateTest, NoRankExceedsItsShareByMoreThanTheLargestPart) {
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  for (int i = 0; i < 200; ++i) {
    names.push_back(absl::StrCat("layer", i));
    sizes.push_back((i * i * 37) % 1009);
  }
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<StatePart> parts;
  for (size_t i = 0; i < names.size(); ++i)
    parts.push_back({names[i], sizes[i]});
  for (const int ranks : {2, 3, 7, 64}) {
    const std::vector<int> rank_of = SplitState(parts, ranks);
    std::vector<int64_t> bytes(ranks);
    for (size_t i = 0; i < parts.size(); ++i) bytes[rank_of[i]] += sizes[i];
    EXPECT_LE(*std::max_element(bytes.begin(), bytes.end()),
              total / ranks + largest)
        << ranks;
  }
}

TEST(SplitStateTest, TheOrderOfPartsDoesNotMatter) {
  std::vector<StatePart> parts = {{"a", 4}, {"b", 4}, {"c", 8},
                                  {"d", 2}, {"e", 0}, {"f", 4}};
  std::map<std::string, int> expected;
  const auto by_name = [&parts] {
    const std::vector<int> rank_of = SplitState(parts, 3);
    std::map<std::string, int> ranks;
    for (size_t i = 0; i < parts.size(); ++i) {
      ranks[std::string(parts[i].name)] = rank_of[i];
    }
    return ranks;
  };
  expected = by_name();
  std::reverse(parts.begin(), parts.end());
  EXPECT_EQ(by_name(), expected);
  std::rotate(parts.begin(), parts.begin() + 2, parts.end());
  EXPECT_EQ(by_name(), expected);
}

NamedTensor CheckpointShardsTensor(const std::string& name, uint8_t value) {
  return {.name = name,
          .dtype = DType::kU8,
          .shape = {1},
          .bytes = SharedBytes({std::byte{value}})};
}

class ReadShardsTest : public ::testing::Test {
 protected:
  void Write(const std::map<std::string, std::vector<NamedTensor>>& files) {
    CheckpointManifest manifest;
    for (const auto& [name, tensors] : files) {
      ASSERT_OK(WriteSafetensors(folder_ / name, tensors, {}).status());
      manifest.add_files()->set_name(name);
    }
    ASSERT_OK(WriteFile(folder_ / kManifestName, manifest.DebugString()));
  }
  // Returns "name=value" for each tensor.
  std::vector<std::string> Read(const std::string& role) {
    auto tensors = ReadShards(folder_.path(), role);
    EXPECT_OK(tensors.status());
    std::vector<std::string> found;
    if (!tensors.ok()) return found;
    for (const NamedTensor& tensor : *tensors) {
      found.push_back(absl::StrCat(
          tensor.name, "=", std::to_integer<int>(tensor.bytes.data()[0])));
    }
    return found;
  }
  absl::Status Fault(const std::string& role) {
    return ReadShards(folder_.path(), role).status();
  }

  TempDir folder_;
};

TEST_F(ReadShardsTest, ReadsTheSingleFileOfARunWithOneWorker) {
  Write({{"generator-0.safetensors",
          {CheckpointShardsTensor("w", 1), CheckpointShardsTensor("b", 2)}},
         {"discriminator-0.safetensors", {CheckpointShardsTensor("w", 3)}}});
  EXPECT_THAT(Read("generator"), ElementsAre("w=1", "b=2"));
  EXPECT_THAT(Read("discriminator"), ElementsAre("w=3"));
}

TEST_F(ReadShardsTest, ReadsTheFilesOfAllRanksInRankOrder) {
  std::map<std::string, std::vector<NamedTensor>> files;
  for (int rank = 0; rank < 11; ++rank) {
    files[ShardName("generator", rank)] = {CheckpointShardsTensor(
        absl::StrCat("w", rank), static_cast<uint8_t>(rank))};
  }
  files[ShardName("generator", 11)] = {};
  Write(files);
  const std::vector<std::string> read = Read("generator");
  ASSERT_EQ(read.size(), 11u);
  EXPECT_EQ(read[1], "w1=1");
  EXPECT_EQ(read[2], "w2=2");  // not w10
  EXPECT_EQ(read[10], "w10=10");
}

TEST_F(ReadShardsTest, TensorsWithDifferentChecksumsAreNamed) {
  const std::vector<std::string> shards = {"a-0", "a-1", "a-2"};
  const TensorChecksums equal = {{"b", "1"}, {"w", "2"}, {"z", "3"}};
  for (const std::string& shard : shards) {
    TensorChecksums checksums = equal;
    if (shard == "a-1") checksums["z"] = "4";
    if (shard == "a-2") checksums.erase("b");
    ASSERT_OK(WriteSafetensors(folder_ / shard, {}, checksums));
    EXPECT_EQ(StateChecksum(checksums) == StateChecksum(equal), shard == "a-0");
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> differing,
                       DifferingTensors(folder_.path(), shards));
  EXPECT_THAT(differing, ElementsAre("b", "z"));
}

TEST_F(ReadShardsTest, ATensorInTwoFilesIsNamed) {
  Write({{"generator-0.safetensors",
          {CheckpointShardsTensor("a", 1), CheckpointShardsTensor("w", 1)}},
         {"generator-1.safetensors", {CheckpointShardsTensor("w", 2)}}});
  EXPECT_THAT(
      Fault("generator"),
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr(folder_.path()),
                     HasSubstr("tensor 'w' is in generator-0.safetensors and "
                               "in generator-1.safetensors"))));
}

TEST_F(ReadShardsTest, ARankMissingFromTheManifestIsNamed) {
  Write({{"generator-0.safetensors", {CheckpointShardsTensor("a", 1)}},
         {"generator-2.safetensors", {CheckpointShardsTensor("w", 2)}}});
  EXPECT_THAT(Fault("generator"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("does not list generator-1.safetensors, but "
                                 "generator-2.safetensors")));
  EXPECT_THAT(Fault("discriminator"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("does not list discriminator-0.safetensors")));
}

TEST_F(ReadShardsTest, AMissingFileIsNamed) {
  Write({{"generator-0.safetensors", {CheckpointShardsTensor("a", 1)}},
         {"generator-1.safetensors", {CheckpointShardsTensor("w", 2)}}});
  ASSERT_OK(RemoveAll(folder_ / "generator-1.safetensors"));
  EXPECT_THAT(Fault("generator"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("generator-1.safetensors")));
  ASSERT_OK(RemoveAll(folder_ / kManifestName));
  EXPECT_THAT(Fault("generator"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("manifest.textproto' is missing")));
}

}  // namespace
}  // namespace gandem
