// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_format.h"
#include "common/files/png.h"
#include "common/process/log.h"
#include "common/results/run_folder.h"
#include "common/status.h"
#include "generator_worker/generator_role.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "training/compute/choose_compute.h"
#include "training/compute/place_network.h"
#include "training/fleet/sync_batch_norm.h"
#include "training/inputs/pairs.h"
#include "training/objective/augment.h"
#include "training/optimizers/freeze_parameters.h"
#include "training/optimizers/make_optimizer.h"
#include "training/roles/role_parts.h"

namespace gandem {
namespace {

absl::StatusOr<std::shared_ptr<Generator>> NewGenerator(
    const NetworkPlan& plan) {
  GANDEM_ASSIGN_OR_RETURN(std::shared_ptr<Generator> network,
                          MakeGenerator(plan.network, plan.data));
  InitializeParameters(*network, plan.network, plan.seed);
  return network;
}

// Makes critics computing like the discriminator, on this device.
CriticFactory CriticsOf(const RunPlan& plan, const RoleSetup& setup) {
  return [=]() -> absl::StatusOr<Critic> {
    NetworkPlan critic = plan.discriminator.network;
    critic.device = plan.generator.network.device;
    critic.threads = plan.generator.network.threads;
    GANDEM_ASSIGN_OR_RETURN(
        const Compute compute,
        ComputeFrom(critic, Resolve(critic, setup.discriminator_choice)));
    GANDEM_ASSIGN_OR_RETURN(auto network, NewDiscriminator(critic, compute));
    SyncIfAsked(plan.discriminator, setup, *network);
    SaltAfterRollback(plan, *network);
    AddAdaBuffer(plan.objective.augmentation.ada, *network);
    return Critic{.network = std::move(network), .compute = compute};
  };
}

// Writes a sample grid. Noise and labels are fixed (Purpose::kSample, step 0),
// so the grids of a run show the same images improving. For image translation,
// a cell shows input, translation and target side by side.
absl::Status WriteGrid(Generator& average, const SamplePlan& plan,
                       const ConditionSource& conditions,
                       const PairReader* pairs, const Compute& compute,
                       const std::string& path) {
  torch::NoGradGuard no_grad;
  const IndexRange all = {.first = 0, .count = plan.num_images};
  const at::Tensor noise_NZ = KeyedNoise(plan.seed, average.noise_dim(),
                                         compute)(Purpose::kSample, 0, all);
  GANDEM_ASSIGN_OR_RETURN(
      const RealImages given,
      ReadConditions(conditions, pairs, Purpose::kSample, 0, all));
  at::Tensor images_NCHW =
      average.forward(noise_NZ, given.condition, ForwardMode::kEvaluate);
  if (pairs != nullptr) images_NCHW = BesidePairs(given, images_NCHW);
  images_NCHW = images_NCHW.to(at::kCPU, at::kFloat).contiguous();
  return WritePng(path, TileImages({images_NCHW.const_data_ptr<float>(),
                                    static_cast<size_t>(images_NCHW.numel())},
                                   {.channels = images_NCHW.size(1),
                                    .height = images_NCHW.size(2),
                                    .width = images_NCHW.size(3)}));
}

// Returns a function that writes run_dir/samples/round-N.png if one is due
// after N completed rounds, and returns its path below run_dir, or "". Logs
// failed writes and continues. `pairs` may be null.
std::function<std::string(int64_t, Generator&)> SampleWriter(
    const SamplePlan& plan, ConditionSource conditions,
    std::shared_ptr<const PairReader> pairs, const std::string& run_dir,
    const Compute& compute) {
  return [=](int64_t completed_rounds, Generator& average) -> std::string {
    const int64_t every = plan.every_rounds;
    if (every == 0 || completed_rounds % every != 0) return "";
    const std::string name =
        absl::StrFormat("samples/round-%06d.png", completed_rounds);
    absl::Status done = RunFolder(run_dir).Create("samples");
    if (done.ok()) {
      done = WriteGrid(average, plan, conditions, pairs.get(), compute,
                       run_dir + "/" + name);
    }
    if (done.ok()) return name;
    GANDEM_LOG_WARN("no sample grid after {} rounds: {}", completed_rounds,
                    done);
    return "";
  };
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingRole>> MakeGeneratorRole(
    const RunPlan& plan, const RoleSetup& setup, GeneratorExchange* exchange) {
  const RolePlan& role_plan = plan.generator;
  const NetworkPlan& network_plan = role_plan.network;
  const ComputeChoice choice = Resolve(network_plan, setup.generator_choice);
  GANDEM_ASSIGN_OR_RETURN(const Compute compute,
                          ComputeFrom(network_plan, choice));
  UseThreads(compute);
  GeneratorRole::Parts parts;
  parts.compute = compute;
  parts.compute_choice = ChoiceState(network_plan, choice);
  GANDEM_ASSIGN_OR_RETURN(auto network, NewGenerator(network_plan));
  parts.network =
      PlaceNetwork(std::move(network), network_plan.recompute_blocks, compute);
  SyncIfAsked(role_plan, setup, *parts.network);
  SaltAfterRollback(plan, *parts.network);
  GANDEM_ASSIGN_OR_RETURN(auto average, NewGenerator(network_plan));
  parts.average = PlaceAtRest(std::move(average), compute);
  GANDEM_RETURN_IF_ERROR(BeginAsGiven(
      setup, "generator", {parts.network.get(), parts.average.get()}));
  GANDEM_RETURN_IF_ERROR(FreezeParameters("generator", role_plan.freeze,
                                          role_plan.optimizer, *parts.network));
  parts.scaler = NewScaler(role_plan, compute);
  parts.ema = std::make_unique<Ema>(plan.ema, *parts.network, *parts.average);
  parts.new_critic = CriticsOf(plan, setup);
  parts.optimizer =
      MakeOptimizer(role_plan.optimizer, TrainedParametersOf(*parts.network),
                    role_plan.optimizer_use);
  TensorsByName more_buffers;
  if (plan.objective.path_length.weight > 0) {
    parts.path_penalty =
        NewPathPenalty(plan.objective.path_length,
                       ShareOf(role_plan, setup.place), compute.device);
    parts.path_direction =
        KeyedNoise(plan.noise_seed, plan.data.shape.image.NumValues(), compute);
    more_buffers = parts.path_penalty->State();
    if (setup.fleet.host != nullptr &&
        role_plan.sync.mode == GradientSynchronizer::Mode::kAccumulate) {
      parts.fleet = GatherOver(setup.fleet.host);
    }
  }
  parts.synchronizer =
      NewSynchronizer(role_plan, setup, *parts.network, *parts.optimizer,
                      parts.scaler.get(), more_buffers);
  parts.noise =
      KeyedNoise(plan.noise_seed, parts.network->noise_dim(), compute);
  if (plan.data.has_pairs()) {
    GANDEM_ASSIGN_OR_RETURN(parts.pairs, OpenPairReader(plan.data, compute));
  }
  GANDEM_ASSIGN_OR_RETURN(
      parts.condition, OpenConditions(plan.data, parts.pairs, compute.device));
  if (!setup.run_dir.empty() && setup.place.rank == 0) {
    parts.write_samples = SampleWriter(plan.samples, parts.condition,
                                       parts.pairs, setup.run_dir, compute);
  }
  auto role = std::make_unique<GeneratorRole>(
      plan, setup.place, std::move(parts), exchange, ServicesOf(setup));
  GANDEM_RETURN_IF_ERROR(RestoreIfResumed(setup, "generator", *role));
  return role;
}

}  // namespace gandem
