// SPDX-License-Identifier: Apache-2.0
#include "evaluation/load_generator.h"

#include <torch/torch.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint_files.h"
#include "common/file.h"
#include "common/run_config.h"
#include "common/safetensors.h"
#include "common/status.h"
#include "models/registry.h"
#include "training/module_state.h"

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

absl::StatusOr<FoundCheckpoint> FindCheckpoint(const std::string& run_dir,
                                               std::optional<int64_t> step) {
  GANDEM_RETURN_IF_ERROR(CheckIsRun(run_dir));
  if (!step.has_value()) return FindNewestCheckpoint(run_dir);
  const std::string path = CheckpointPath(run_dir, *step);
  if (!PathExists(path)) {
    return absl::NotFoundError(absl::StrCat("no checkpoint of step ", *step,
                                            ": ", path, " does not exist"));
  }
  GANDEM_ASSIGN_OR_RETURN(CheckpointManifest manifest, VerifyCheckpoint(path));
  return FoundCheckpoint{.path = path,
                         .step = *step,
                         .manifest = std::move(manifest),
                         .skipped_with_reason = {}};
}

absl::StatusOr<std::shared_ptr<Generator>> LoadAverage(
    const RunConfig& config, const Compute& compute, const std::string& path) {
  const int64_t size = config.data().image_size();
  GANDEM_ASSIGN_OR_RETURN(
      std::shared_ptr<Generator> network,
      MakeGenerator(config.generator().network(),
                    {.channels = 1, .height = size, .width = size}));
  network->to(compute.device, compute.dtype);
  GANDEM_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors,
                          ReadSafetensors(path));
  const absl::Status loaded =
      TensorReader(std::move(tensors)).Load("ema.", StateOf(*network));
  if (!loaded.ok()) return Annotate(loaded, path);
  return network;
}

}  // namespace

absl::StatusOr<LoadedGenerator> LoadGenerator(const std::string& run_dir,
                                              std::optional<int64_t> step) {
  GANDEM_ASSIGN_OR_RETURN(FoundCheckpoint found, FindCheckpoint(run_dir, step));
  LoadedGenerator result;
  result.checkpoint = found.path;
  result.step = found.step;
  result.skipped = std::move(found.skipped_with_reason);
  GANDEM_ASSIGN_OR_RETURN(result.config,
                          LoadRunConfig(found.path + "/config.textproto", {}));
  if (result.config.precision() == PRECISION_FLOAT64) {
    result.compute.dtype = at::kDouble;
  }
  GANDEM_ASSIGN_OR_RETURN(result.network,
                          LoadAverage(result.config, result.compute,
                                      found.path + "/generator-0.safetensors"));
  return result;
}

}  // namespace gandem
