// SPDX-License-Identifier: Apache-2.0
#include "training/state/state_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "models/torch.h"

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
    EXPECT_EQ(bytes, 40) << rank;  // of 80
  }
  EXPECT_THAT(seen, ElementsAre("held", "m.large", "m.number", "m.small"));
}

TEST(StateShardTest, ItIsACopy) {
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
