// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/gradient_check.h"

#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "benchmarks/measure.h"
#include "common/check.h"
#include "common/config/run_config.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "training/compute/choose_compute.h"
#include "training/compute/measure_step.h"
#include "training/optimizers/gradients.h"
#include "training/optimizers/make_optimizer.h"
#include "training/plan/run_plan.h"

namespace gandem {
namespace {

absl::StatusOr<std::shared_ptr<torch::nn::Module>> NetworkOf(
    const NetworkPlan& plan) {
  if (plan.role == GENERATOR) return MakeGenerator(plan.network, plan.data);
  return MakeDiscriminator(plan.network, plan.data);
}

TensorsByName WithGradients(const torch::nn::Module& network) {
  TensorsByName parameters;
  for (const auto& parameter : network.named_parameters()) {
    at::Tensor values = parameter.value();
    values.mutable_grad() = torch::randn_like(values) * 1e-2;
    parameters.emplace_back(parameter.key(), values);
  }
  return parameters;
}

template <typename Call>
double MillisecondsOf(Call call) {
  const absl::Time begin = MonotonicNow();
  call();
  return absl::ToDoubleMilliseconds(MonotonicNow() - begin);
}

double StepMilliseconds(const NetworkPlan& plan) {
  const auto choice = ChooseCompute(plan, /*resume_from=*/"", std::nullopt);
  GANDEM_CHECK_OK(choice.status());
  const auto compute = ComputeFrom(plan, *choice);
  GANDEM_CHECK_OK(compute.status());
  const auto cost = MeasureStep(plan, *compute);
  GANDEM_CHECK_OK(cost.status());
  return absl::ToDoubleMilliseconds(cost->time);
}

nlohmann::json MeasureCheckOf(const NetworkPlan& plan,
                              const OptimizerConfig& config, int repetitions) {
  const auto network = NetworkOf(plan);
  GANDEM_CHECK_OK(network.status());
  const TensorsByName parameters = WithGradients(**network);
  const auto optimizer = MakeOptimizer(config, parameters, {});
  GANDEM_CHECK_OK(optimizer.status());
  int64_t numbers = 0;
  for (const auto& [name, values] : parameters) numbers += values.numel();

  std::vector<double> checks;
  std::vector<double> updates;
  for (int i = -1; i < repetitions; ++i) {  // one to warm up
    const double check =
        MillisecondsOf([&] { GANDEM_CHECK(GradientNorm(**network) > 0); });
    const double update = MillisecondsOf([&] {
      GANDEM_CHECK_OK(UpdateNetwork(**network,
                                    std::numeric_limits<double>::infinity(),
                                    **optimizer, /*scaler=*/nullptr)
                          .status());
    });
    if (i < 0) continue;
    checks.push_back(check);
    updates.push_back(update);
  }
  const double check = Median(checks);
  const double update = Median(updates);
  const double step = StepMilliseconds(plan) + update;
  std::printf(
      "%s, %lld numbers, batch %lld: the check takes %.3f ms, %.1f %% of an "
      "update of %.2f ms and %.3f %% of a step of %.1f ms\n",
      Role_Name(plan.role).c_str(), static_cast<long long>(numbers),
      static_cast<long long>(plan.batch_size), check, 100 * check / update,
      update, 100 * check / step, step);
  return {{"numbers", numbers},
          {"check_ms", check},
          {"update_ms", update},
          {"step_ms", step},
          {"share_of_step", check / step}};
}

}  // namespace

nlohmann::json MeasureGradientCheck(const std::string& recipe,
                                    int repetitions) {
  const auto config = LoadRunConfig(recipe, {});
  GANDEM_CHECK_OK(config.status());
  const RunPlan plan = MakeRunPlan(EffectiveRunConfig::OfValid(*config));
  return {{"generator",
           MeasureCheckOf(plan.generator.network,
                          config->generator().optimizer(), repetitions)},
          {"discriminator",
           MeasureCheckOf(plan.discriminator.network,
                          config->discriminator().optimizer(), repetitions)}};
}

}  // namespace gandem
