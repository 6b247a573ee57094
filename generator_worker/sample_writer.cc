// SPDX-License-Identifier: Apache-2.0
#include "generator_worker/sample_writer.h"

#include "absl/strings/str_format.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "common/process/log.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/inputs/conditions.h"
#include "training/inputs/sources.h"

namespace gandem {
namespace {

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

}  // namespace

std::function<std::string(int64_t, Generator&)> SampleWriter(
    const SamplePlan& plan, ConditionSource conditions,
    std::shared_ptr<const PairReader> pairs, const std::string& run_dir,
    const Compute& compute) {
  return [=](int64_t completed_rounds, Generator& average) -> std::string {
    const int64_t every = plan.every_rounds;
    if (every == 0 || completed_rounds % every != 0) return "";
    const std::string name =
        absl::StrFormat("samples/round-%06d.png", completed_rounds);
    absl::Status done = CreateDirectories(run_dir + "/samples");
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

}  // namespace gandem
