// SPDX-License-Identifier: Apache-2.0
#include "tests/evaluation/commands/small_run.h"

#include <gtest/gtest.h>

#include "common/checkpoint/checkpoint_files.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/checkpoint/safetensors.h"
#include "common/config/run_config.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "training/state/module_state.h"
#include "training/state/state_shard.h"

namespace gandem::testing {

RunConfig SmallConfig() {
  RunConfig config;
  config.set_seed(kRunSeed);
  config.set_rounds(100);
  config.mutable_data()->set_max_images(4096);
  RoleConfig& generator = *config.mutable_generator();
  generator.mutable_network()->mutable_mlp()->set_noise_dim(6);
  generator.mutable_network()->mutable_mlp()->add_hidden(8);
  config.mutable_discriminator()->mutable_network()->mutable_mlp()->add_hidden(
      8);
  for (RoleConfig* role : {&generator, config.mutable_discriminator()}) {
    role->mutable_optimizer()->mutable_adam();
  }
  return config;
}

RunConfig SmallStylegan2Config() {
  RunConfig config = SmallConfig();
  Stylegan2Config& network =
      *config.mutable_generator()->mutable_network()->mutable_stylegan2();
  network.set_channel_base(64);
  network.set_max_channels(8);
  network.set_noise_dim(6);
  network.set_style_dim(6);
  network.set_mapping_layers(2);
  return config;
}

std::shared_ptr<Generator> MakeAverage(const RunConfig& config, int64_t step) {
  const std::shared_ptr<Generator> network =
      *MakeGenerator(config.generator().network(), DataShapeOf(config.data()));
  InitializeParameters(*network, config.generator().network(),
                       static_cast<uint64_t>(step));
  if (config.generator().precision() == RoleConfig::FLOAT64)
    network->to(at::kDouble);
  return network;
}

void WriteCheckpoint(const std::string& run_dir, const RunConfig& config,
                     int64_t step, const RunConfig& made_by, int ranks) {
  const std::string folder = PendingCheckpointPath(run_dir, step, 1);
  ASSERT_OK(CreateDirectories(folder));
  CheckpointManifest manifest;
  manifest.set_step(step);
  manifest.set_run_epoch(1);
  const auto add = [&manifest](const std::string& name, int64_t size,
                               uint32_t crc) {
    CheckpointFile& file = *manifest.add_files();
    file.set_name(name);
    file.set_size(size);
    file.set_crc32c(crc);
  };
  for (int rank = 0; rank < ranks; ++rank) {
    StateShard shard(rank, ranks);
    shard.Add("model.", StateOf(*MakeAverage(made_by, step + kRawSteps)));
    shard.Add("ema.", StateOf(*MakeAverage(made_by, step)));
    const std::string name = ShardName("generator", rank);
    ASSERT_OK_AND_ASSIGN(
        const FileSummary summary,
        WriteSafetensors(folder + "/" + name, shard.Copy(), {}));
    add(name, summary.size, summary.crc32c);
  }
  const std::string text = config.DebugString();
  ASSERT_OK(WriteFileDurably(folder + "/config.textproto", text));
  add("config.textproto", static_cast<int64_t>(text.size()),
      Crc32c(std::as_bytes(std::span(text))));
  ASSERT_OK(CommitCheckpoint(run_dir, manifest));
}

void WriteCheckpoint(const std::string& run_dir, const RunConfig& config,
                     int64_t step) {
  WriteCheckpoint(run_dir, config, step, config);
}

}  // namespace gandem::testing
