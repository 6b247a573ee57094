// SPDX-License-Identifier: Apache-2.0
//
// Seconds that the metrics take once the features are there, each the median
// of a few repetitions; and of CPU time, all threads together, which says more
// on a machine that does other things too.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "benchmarks/measure.h"
#include "common/check.h"
#include "evaluation/metrics/feature_moments.h"
#include "evaluation/metrics/frechet_distance.h"
#include "evaluation/metrics/kernel_distance.h"
#include "evaluation/metrics/precision_recall.h"
#include "models/torch.h"

namespace gandem {
namespace {

struct Options {
  int64_t dim = 2048;
  int64_t rows = 3000;      // of both sets: more than dim, for full rank
  int64_t few_rows = 1000;  // for the path of fewer rows than dimensions
  int64_t repetitions = 3;
};

class Timer {
 public:
  explicit Timer(int64_t repetitions) : repetitions_(repetitions) {}

  void Measure(const std::string& name, absl::FunctionRef<absl::Status()> run) {
    std::vector<double> seconds;
    std::vector<double> cpu;
    for (int64_t i = 0; i < repetitions_; ++i) {
      const absl::Time begin = absl::Now();
      const std::clock_t cpu_begin = std::clock();
      GANDEM_CHECK_OK(run());
      cpu.push_back(static_cast<double>(std::clock() - cpu_begin) /
                    CLOCKS_PER_SEC);
      seconds.push_back(absl::ToDoubleSeconds(absl::Now() - begin));
    }
    const Spread spread(seconds);
    result_["seconds"][name] = spread.ToJson();
    result_["seconds"][name]["cpu"] = Median(cpu);
    std::printf("%-39s %7.3f s (%.3f to %.3f), CPU %7.3f s\n", name.c_str(),
                spread.median, spread.min, spread.max, Median(cpu));
  }

  nlohmann::json& result() { return result_; }

 private:
  int64_t repetitions_;
  nlohmann::json result_;
};

// Like features of a network: not negative, and of unequal size.
at::Tensor MakeFeatures(int64_t rows, int64_t dim, uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  const at::Tensor scale =
      torch::arange(1, dim + 1, at::kDouble).pow(-0.5).unsqueeze(0);
  return torch::randn({rows, dim}, generator, at::kDouble).mul(scale).relu();
}

Moments Of(const at::Tensor& features_ND) {
  auto moments = MomentsOf(features_ND);
  GANDEM_CHECK_OK(moments.status());
  return *std::move(moments);
}

nlohmann::json Measure(const Options& options) {
  const at::Tensor reference_ND = MakeFeatures(options.rows, options.dim, 1);
  const at::Tensor generated_ND = MakeFeatures(options.rows, options.dim, 2);
  const at::Tensor few_ND = generated_ND.slice(0, 0, options.few_rows);
  const Moments reference = Of(reference_ND);
  const Moments generated = Of(generated_ND);
  const Moments few = Of(few_ND);
  const auto decomposed = FrechetReference::Create(reference);
  GANDEM_CHECK_OK(decomposed.status());

  Timer timer(options.repetitions);
  timer.result()["dim"] = options.dim;
  timer.result()["rows"] = options.rows;
  timer.result()["few_rows"] = options.few_rows;
  timer.result()["threads"] = at::get_num_threads();
  timer.Measure("moments", [&] { return MomentsOf(generated_ND).status(); });
  timer.Measure("Frechet distance, symmetric eigenvalues",
                [&] { return FrechetDistance(reference, generated).status(); });
  timer.Measure("the same, reference decomposed before",
                [&] { return decomposed->DistanceTo(generated).status(); });
  timer.Measure("Frechet distance, few rows to decomposed",
                [&] { return decomposed->DistanceTo(few).status(); });
  timer.Measure("kernel distance, 10 subsets", [&] {
    return KernelDistance(
               reference_ND, generated_ND,
               {.num_subsets = 10,
                .subset_rows = std::min<int64_t>(1000, options.rows)})
        .status();
  });
  timer.Measure("precision, recall, density, coverage", [&] {
    return ComputePrecisionRecall(reference_ND, generated_ND).status();
  });
  return timer.result();
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  CLI::App app("Seconds of the metrics of given features");
  gandem::Options options;
  int threads = 2;
  std::string json;
  app.add_option("--dim", options.dim, "dimensions of a feature")
      ->check(CLI::Range(8, 1 << 16))
      ->capture_default_str();
  app.add_option("--rows", options.rows, "features of each set")
      ->check(CLI::Range(8, 1 << 24))
      ->capture_default_str();
  app.add_option("--few_rows", options.few_rows, "of the smaller set")
      ->check(CLI::Range(8, 1 << 24))
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "of each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--threads", threads, "of one operation")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--json", json, "file for the result");
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(threads);
  gandem::WriteResult(json, gandem::Measure(options));
  return 0;
}
