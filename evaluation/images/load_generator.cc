// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/load_generator.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/checkpoint/safetensors.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/status.h"
#include "models/layers/drawing_layer.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "training/compute/devices.h"
#include "training/state/catch_torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

absl::Status CheckIsRun(const std::string& run_dir) {
  if (!PathExists(run_dir)) {
    return absl::NotFoundError(absl::StrCat(run_dir, ": no such folder"));
  }
  if (!PathExists(run_dir + "/checkpoints")) {
    return absl::NotFoundError(absl::StrCat(
        run_dir,
        ": not the folder of a run, or one without a checkpoint yet: "
        "expected ",
        run_dir,
        "/checkpoints, as `gandem train RECIPE "
        "--run_dir ",
        run_dir, "` makes it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Generator>> LoadNetwork(
    const NetworkPlan& plan, const Compute& compute, const std::string& folder,
    GeneratorWeights weights) {
  GANDEM_ASSIGN_OR_RETURN(std::shared_ptr<Generator> network,
                          MakeGenerator(plan.network, plan.data));
  network->to(compute.device, compute.dtype);
  GANDEM_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors,
                          ReadShards(folder, "generator"));
  const absl::Status loaded =
      TensorReader(std::move(tensors))
          .Load(weights == GeneratorWeights::kRaw ? "model." : "ema.",
                StateOf(*network));
  if (!loaded.ok()) return Annotate(loaded, folder);
  return network;
}

absl::StatusOr<LoadedGenerator> Load(const FoundCheckpoint& found,
                                     const std::string& device,
                                     GeneratorWeights weights) {
  LoadedGenerator result;
  result.checkpoint = found.path;
  result.step = found.step;
  result.skipped = found.skipped_with_reason;
  GANDEM_ASSIGN_OR_RETURN(result.compute.device, ParseDevice(device));
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          LoadRunConfig(found.path + "/config.textproto", {}));
  result.plan = MakeRunPlan(EffectiveRunConfig::OfValid(config));
  const NetworkPlan& network = result.plan.generator.network;
  if (network.precision == RoleConfig::FLOAT64) {
    result.compute.dtype = at::kDouble;
  }
  GANDEM_ASSIGN_OR_RETURN(result.network, LoadNetwork(network, result.compute,
                                                      found.path, weights));
  GANDEM_ASSIGN_OR_RETURN(result.files,
                          ShardNames(found.manifest, "generator"));
  if (result.plan.data.has_pairs()) {
    GANDEM_ASSIGN_OR_RETURN(result.pairs,
                            OpenPairReader(result.plan.data, result.compute));
  }
  return result;
}

absl::StatusOr<FoundCheckpoint> VerifiedCheckpoint(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(CheckpointManifest manifest, VerifyCheckpoint(path));
  const int64_t step = manifest.step();
  return FoundCheckpoint{.path = path,
                         .step = step,
                         .manifest = std::move(manifest),
                         .skipped_with_reason = {}};
}

}  // namespace

absl::StatusOr<FoundCheckpoint> FindCheckpoint(const std::string& run_dir,
                                               std::optional<int64_t> step) {
  GANDEM_RETURN_IF_ERROR(CheckIsRun(run_dir));
  if (!step.has_value()) return FindNewestCheckpoint(run_dir);
  const std::string path = CheckpointPath(run_dir, *step);
  if (!PathExists(path)) {
    return absl::NotFoundError(absl::StrCat("no checkpoint of step ", *step,
                                            ": ", path, " does not exist"));
  }
  return VerifiedCheckpoint(path);
}

absl::StatusOr<LoadedGenerator> LoadCheckpoint(const std::string& folder,
                                               const std::string& device) {
  if (!PathExists(folder)) {
    return absl::NotFoundError(absl::StrCat(folder, ": no such folder"));
  }
  GANDEM_ASSIGN_OR_RETURN(const FoundCheckpoint found,
                          VerifiedCheckpoint(folder));
  return Load(found, device, GeneratorWeights::kAverage);
}

absl::StatusOr<LoadedGenerator> LoadGenerator(const std::string& run_dir,
                                              std::optional<int64_t> step,
                                              GeneratorWeights weights) {
  GANDEM_ASSIGN_OR_RETURN(const FoundCheckpoint found,
                          FindCheckpoint(run_dir, step));
  return Load(found, "cpu", weights);
}

absl::Status CheckClass(int64_t num_classes,
                        std::optional<int64_t> only_class) {
  if (!only_class.has_value()) return absl::OkStatus();
  if (num_classes == 0) {
    return absl::InvalidArgumentError(
        "the run's generator takes no class: it was trained with "
        "data.num_classes=0");
  }
  if (*only_class >= 0 && *only_class < num_classes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there is no class ",
                                                 *only_class,
                                                 ": the run has classes 0 "
                                                 "to ",
                                                 num_classes - 1));
}

absl::Status UseConditions(uint64_t seed, std::optional<int64_t> only_class,
                           LoadedGenerator& generator) {
  GANDEM_RETURN_IF_ERROR(
      CheckClass(generator.plan.data.shape.num_classes, only_class));
  const at::Device device = generator.compute.device;
  if (only_class.has_value()) {
    generator.conditions = [label = *only_class, device](
                               Purpose, int64_t,
                               IndexRange range) -> absl::StatusOr<Condition> {
      const auto options =
          torch::TensorOptions().dtype(at::kLong).device(device);
      return Condition{.labels_N = torch::full({range.count}, label, options)};
    };
    return absl::OkStatus();
  }
  DataPlan data = generator.plan.data;
  data.seed = seed;
  GANDEM_ASSIGN_OR_RETURN(generator.conditions,
                          OpenConditions(data, generator.pairs, device));
  return absl::OkStatus();
}

absl::Status UseTruncation(double psi, LoadedGenerator& generator) {
  if (psi == 1 || generator.network->TruncateStyles(psi)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "--truncation_psi moves the styles of stylegan2 towards their mean, and "
      "the run's generator has no styles. --truncation and --noise_scale work "
      "with every generator that takes noise");
}

absl::Status UseNoiseInputs(bool random, uint64_t seed,
                            LoadedGenerator& generator) {
  if (!generator.network->SetNoiseInputs(random)) {
    if (!random) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--noise random draws the noise inputs of stylegan2 for each image, "
        "and the run's generator has none: leave it out");
  }
  generator.noise_inputs = random ? "random" : "const";
  if (!random) return absl::OkStatus();
  SaltDraws(*generator.network, seed);
  generator.conditions = [source = std::move(generator.conditions)](
                             Purpose noise, int64_t step,
                             IndexRange range) -> absl::StatusOr<Condition> {
    GANDEM_ASSIGN_OR_RETURN(const Condition condition,
                            source(noise, step, range));
    return condition.At(
        {.purpose = noise, .step = step, .first_index = range.first});
  };
  return absl::OkStatus();
}

}  // namespace gandem
