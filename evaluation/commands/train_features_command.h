// SPDX-License-Identifier: Apache-2.0
//
// The command line of `gandem train-features`.
//
// Owner: main. Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace gandem {

struct TrainFeaturesFlags {
  std::string dataset = "/usr/share/datasets/fashion-mnist";
  std::string cache_dir = {};
  int64_t epochs = 5;
  uint64_t seed = 1;
  int threads = 0;  // 0: one per core that this process may use
};

void AddTrainFeaturesCommand(CLI::App& app, int& exit_code);

int RunTrainFeatures(const TrainFeaturesFlags& flags);

}  // namespace gandem
