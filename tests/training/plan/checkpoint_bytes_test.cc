// SPDX-License-Identifier: Apache-2.0
#include "training/plan/checkpoint_bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using ::gandem::testing::RunPair;
using ::gandem::testing::SavedStates;
using ::gandem::testing::TempDir;

struct BytesCase {
  std::string name;
  std::string family;
  std::string changes;
};

class CheckpointBytesTest : public ::testing::TestWithParam<BytesCase> {};

TEST_P(CheckpointBytesTest, IsWhatARunSaves) {
  const TempDir folder;
  RunConfig config =
      gandem::testing::SmallConfig(GetParam().family, folder.path());
  config.set_rounds(4);
  RunConfig changes;
  ASSERT_OK(ParseTextProto(GetParam().changes, "changes", changes));
  config.MergeFrom(changes);
  ASSERT_OK_AND_ASSIGN(const SavedStates saved, RunPair(config, {}));
  int64_t bytes = 0;
  for (const auto& [file, tensors] : saved.rbegin()->second) {
    for (const NamedTensor& tensor : tensors) {
      bytes += static_cast<int64_t>(tensor.bytes.size());
    }
  }
  ASSERT_OK_AND_ASSIGN(const int64_t predicted, PredictCheckpointBytes(config));
  EXPECT_EQ(predicted, bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, CheckpointBytesTest,
    ::testing::Values(
        BytesCase{"Synchronous", "mlp", "schedule { lag: 0 }"},
        BytesCase{"OlderCritics", "mlp", "schedule { lag: 3 }"},
        BytesCase{"Buffers", "sndcgan", "schedule { lag: 1 }"},
        BytesCase{"MeansOfImages", "stylegan2", ""},
        BytesCase{"FrozenInFloat64", "mlp",
                  "generator { freeze: 'main.0.*' precision: FLOAT64 } "
                  "discriminator { precision: FLOAT64 }"},
        BytesCase{"Optimizers", "mlp",
                  "generator { optimizer { adam {} lookahead { period: 3 } } } "
                  "discriminator { optimizer { sgd { momentum: 0.5 } } }"}),
    [](const ::testing::TestParamInfo<BytesCase>& info) {
      return info.param.name;
    });

}  // namespace
}  // namespace gandem
