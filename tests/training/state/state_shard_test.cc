// SPDX-License-Identifier: Apache-2.0
#include "training/state/state_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "common/checkpoint/safetensors_writer.h"
#include "common/files/file.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> StateShardNames(
    const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

TEST(StateShardTest, OneRankSavesEverythingInTheOrderOfAdd) {
  StateShard shard(0, 1);
  shard.Add("model.", {{"w", torch::ones({3})}, {"b", torch::zeros({})}});
  shard.Add(NamedTensor{.name = "critic.7",
                        .dtype = DType::kU8,
                        .shape = {2},
                        .bytes = SharedBytes(std::vector<std::byte>(2))});
  shard.Add("", {{"choice", torch::arange(2)}});
  EXPECT_THAT(StateShardNames(shard.Copy()),
              ElementsAre("model.w", "model.b", "critic.7", "choice"));
}

TEST(StateShardTest, RanksShareTheBytes) {
  const at::Tensor large = torch::full({10}, 1.0);
  const at::Tensor small = torch::full({4}, 2.0);
  const at::Tensor number = torch::full({}, 3.0);
  std::set<std::string> seen;
  for (int rank = 0; rank < 2; ++rank) {
    StateShard shard(rank, 2);
    shard.Add("m.", {{"large", large}, {"small", small}, {"number", number}});
    shard.Add(NamedTensor{.name = "held",
                          .dtype = DType::kU8,
                          .shape = {20},
                          .bytes = SharedBytes(std::vector<std::byte>(20))});
    const std::vector<NamedTensor> copy = shard.Copy();
    int64_t bytes = 0;
    for (const NamedTensor& tensor : copy) {
      bytes += static_cast<int64_t>(tensor.bytes.size());
      EXPECT_TRUE(seen.insert(tensor.name).second) << tensor.name;
    }
    EXPECT_EQ(bytes, 40) << rank;  // half of 80
  }
  EXPECT_THAT(seen, ElementsAre("held", "m.large", "m.number", "m.small"));
}

TEST(StateShardTest, ChecksumsCoverTheTensorsOfAllRanks) {
  const auto checksums = [](int rank, int ranks, const at::Tensor& large,
                            int held) {
    StateShard shard(rank, ranks);
    shard.Add("m.", {{"large", large.t()}, {"small", torch::full({4}, 2.0)}});
    shard.Add(NamedTensor{
        .name = "held",
        .dtype = DType::kU8,
        .shape = {1},
        .bytes = SharedBytes(std::vector<std::byte>{std::byte(held)})});
    return shard.Checksums();
  };
  const at::Tensor large = torch::arange(6.0).reshape({2, 3});
  const TensorChecksums whole = checksums(0, 2, large, 1);
  EXPECT_EQ(whole.size(), 3u);
  EXPECT_EQ(checksums(1, 2, large, 1), whole);
  EXPECT_THAT(checksums(0, 1, large, 1), ::testing::IsEmpty());
  for (int rank = 0; rank < 2; ++rank) {
    TensorChecksums expected = whole;
    expected["held"] = checksums(rank, 2, large, 2)["held"];
    EXPECT_NE(expected, whole);
    EXPECT_EQ(checksums(rank, 2, large, 2), expected);
    at::Tensor flipped = large.clone();
    flipped.data_ptr<float>()[4] = std::nextafterf(4, 5);
    const TensorChecksums other = checksums(rank, 2, flipped, 1);
    EXPECT_NE(other.at("m.large"), whole.at("m.large"));
    EXPECT_EQ(other.at("m.small"), whole.at("m.small"));
  }
}

TEST(StateShardTest, TheFirstNonFiniteTensorIsNamed) {
  StateShard shard(0, 1);
  // All of its bits are 1.
  shard.Add("", {{"good", torch::full({4}, 1e30F)},
                 {"count", torch::full({}, -1, at::kLong)},
                 {"none", torch::empty(0)}});
  EXPECT_EQ(shard.FirstInfinite(), "");
  shard.Add("a.", {{"bad", torch::tensor({0.0, double{NAN}})},
                   {"worse", torch::full({2}, INFINITY)}});
  EXPECT_EQ(shard.FirstInfinite(), "a.bad");
}

std::string StateShardText(TensorSnapshot& snapshot, const std::string& path) {
  const auto written = WriteSafetensors(
      path, snapshot.tensors(), {}, [&](size_t index, FileWriter& writer) {
        return snapshot.AppendTo(writer, index).status();
      });
  EXPECT_OK(written);
  return ReadFile(path).value_or("");
}

// A tensor that only updates change is copied before the next update.
TEST(StateShardTest, ASnapshotHasTheStateOfItsTime) {
  const testing::TempDir folder;
  const at::Tensor weight = torch::arange(6.0).reshape({2, 3}).t();
  const at::Tensor moment = torch::full({3}, 5.0);
  StateShard shard(0, 1);
  shard.Add("model.", {{"w", weight}});
  shard.Add("optimizer.", {{"m", moment}}, StateChanges::kInUpdates);
  ASSERT_OK(WriteSafetensors(folder / "expected", shard.Copy(), {}));
  ASSERT_OK_AND_ASSIGN(const std::string expected,
                       ReadFile(folder / "expected"));
  SnapshotBuffers buffers;
  for (const bool is_written_before : {false, true}) {
    weight.copy_(torch::arange(6.0).reshape({2, 3}).t());
    moment.fill_(5);
    const auto snapshot = shard.Snapshot(buffers);
    EXPECT_EQ(buffers.size(), 1u);
    EXPECT_EQ(snapshot->tensors()[0].bytes.data(),
              static_cast<std::byte*>(buffers["model.w"].data_ptr()));
    EXPECT_EQ(snapshot->tensors()[1].bytes.data(),
              static_cast<std::byte*>(moment.data_ptr()));
    weight.fill_(7);  // like a forward pass
    if (is_written_before) {
      EXPECT_EQ(StateShardText(*snapshot, folder / "early"), expected);
    }
    snapshot->Detach();
    moment.fill_(8);
    if (is_written_before) {
      // The written bytes are released.
      ASSERT_OK_AND_ASSIGN(FileWriter writer,
                           FileWriter::Create(folder / "again"));
      EXPECT_THAT(snapshot->AppendTo(writer, 1).status(),
                  testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                    ::testing::HasSubstr("'optimizer.m'")));
    } else {
      EXPECT_EQ(StateShardText(*snapshot, folder / "late"), expected);
    }
  }
}

TEST(StateShardTest, TheSnapshotIsACopy) {
  const at::Tensor live = torch::full({2}, 5.0, at::kDouble);
  StateShard shard(0, 1);
  shard.Add("", {{"w", live}});
  live.fill_(6);
  const std::vector<NamedTensor> copy = shard.Copy();
  live.fill_(7);
  ASSERT_EQ(copy.size(), 1u);
  EXPECT_EQ(*reinterpret_cast<const double*>(copy[0].bytes.data()), 6);
}

}  // namespace
}  // namespace gandem
