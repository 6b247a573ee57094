// SPDX-License-Identifier: Apache-2.0
//
// Measures milliseconds per update of every optimizer on the CPU, alternating
// between them. The baseline "adam" is PyTorch's fused kernel.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "benchmarks/measure.h"
#include "common/check.h"
#include "common/files/text_proto.h"
#include "models/torch.h"
#include "training/optimizers/make_optimizer.h"

namespace gandem {
namespace {

// Makes `numbers` random parameters and gradients, in kernels of a large
// convolutional network: [512, 512, 3, 3], the last ones smaller.
TensorsByName MakeParameters(int64_t numbers) {
  TensorsByName parameters;
  while (numbers > 0) {
    const int64_t rows = std::clamp<int64_t>(numbers / (512 * 9), 1, 512);
    at::Tensor parameter = rows * 512 * 9 <= numbers
                               ? torch::randn({rows, 512, 3, 3})
                               : torch::randn({numbers});
    numbers -= parameter.numel();
    parameter.mutable_grad() = torch::randn_like(parameter) * 1e-2;
    parameters.emplace_back(std::to_string(parameters.size()), parameter);
  }
  return parameters;
}

// Creates one optimizer per call, because the states of all optimizers together
// would not fit into memory.
double MillisecondsPerStep(const std::string& config_text,
                           const TensorsByName& parameters, int64_t steps) {
  OptimizerConfig config;
  GANDEM_CHECK_OK(ParseTextProto(config_text, "config", config));
  const auto optimizer = MakeOptimizer(config, parameters, {});
  GANDEM_CHECK_OK(optimizer->Step());  // allocates the state
  std::vector<double> times;
  for (int64_t i = 0; i < steps; ++i) {
    const absl::Time begin = absl::Now();
    GANDEM_CHECK_OK(optimizer->Step());
    times.push_back(absl::ToDoubleMilliseconds(absl::Now() - begin));
  }
  return Median(times);
}

nlohmann::json Measure(int64_t numbers, int64_t repetitions, int64_t steps,
                       const std::vector<std::string>& families) {
  const TensorsByName parameters = MakeParameters(numbers);
  std::map<std::string, std::vector<double>> times;
  for (int64_t i = 0; i < repetitions; ++i) {
    for (const std::string& family : families) {
      times[family].push_back(MillisecondsPerStep(family, parameters, steps));
    }
  }
  nlohmann::json result;
  result["parameters"] = numbers;
  result["threads"] = at::get_num_threads();
  const double adam = Median(times.at(families.front()));
  for (const std::string& family : families) {
    const Spread spread(times[family]);
    result["ms_per_step"][family] = spread.ToJson();
    result["speed_against_adam"][family] = adam / spread.median;
    std::printf("%-26s %8.2f ms  (%.2f to %.2f)  %.2fx the speed of adam\n",
                family.c_str(), spread.median, spread.min, spread.max,
                adam / spread.median);
  }
  return result;
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  CLI::App app("Milliseconds per update of every optimizer");
  int64_t numbers = 80'000'000;
  int64_t repetitions = 5;
  int64_t steps = 5;
  int threads = 1;
  std::string json;
  std::vector<std::string> families = {"adam {}",
                                       "adabelief {}",
                                       "adamw {}",
                                       "sgd {}",
                                       "sgd { momentum: 0.9 }",
                                       "rmsprop {}",
                                       "radam {}",
                                       "lion {}",
                                       "lars {}",
                                       "lamb {}",
                                       "adafactor {}",
                                       "adam {} optimism: 1",
                                       "adam {} lookahead { period: 5 }"};
  app.add_option("--parameters", numbers, "Number of parameters")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 34));
  app.add_option("--repetitions", repetitions, "Repetitions of all optimizers")
      ->check(CLI::Range(1, 1000));
  app.add_option("--steps", steps, "Steps per repetition, after a warm-up step")
      ->check(CLI::Range(1, 1000));
  app.add_option("--threads", threads)->check(CLI::Range(1, 1024));
  app.add_option("--families", families,
                 "Optimizer configs as text; the first one is the baseline");
  app.add_option("--json", json, "JSON file for the result");
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(threads);
  gandem::WriteResult(json,
                      gandem::Measure(numbers, repetitions, steps, families));
  return 0;
}
