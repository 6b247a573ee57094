// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/standing_statistics.h"

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "common/status.h"
#include "models/foreign_network.h"
#include "models/layers/batch_norm.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr int64_t kMaxSteps = 1'000'000;
constexpr int64_t kMaxBatch = 65536;

struct Batch {
  at::Tensor noise_NZ;
  Condition condition;
};

// Draws noise, and labels for a run with classes; images to translate are added
// later.
Batch DrawBatch(const StandingOptions& options, int64_t min_batch,
                uint64_t seed, uint64_t step, int64_t noise_dim,
                int64_t num_classes) {
  const auto stream = [&](uint64_t index) {
    return PhiloxStream(seed, Purpose::kStandingStatistics, step, index);
  };
  const int64_t size = min_batch + stream(0).NextBelow(static_cast<uint32_t>(
                                       options.max_batch - min_batch + 1));
  Batch batch = {.noise_NZ = torch::empty({size, noise_dim}), .condition = {}};
  at::Tensor labels_N = torch::zeros({size}, at::kLong);
  float* value = batch.noise_NZ.mutable_data_ptr<float>();
  for (int64_t i = 0; i < size; ++i, value += noise_dim) {
    PhiloxStream image = stream(1 + static_cast<uint64_t>(i));
    image.FillNormal({value, static_cast<size_t>(noise_dim)});
    if (num_classes == 0) continue;
    labels_N.mutable_data_ptr<int64_t>()[i] =
        image.NextBelow(static_cast<uint32_t>(num_classes));
  }
  if (num_classes > 0) batch.condition.labels_N = labels_N;
  return batch;
}

// Returns false if there is no batch norm.
bool ResetBatchNorm(Generator& network) {
  bool has_batch_norm = false;
  for (const auto& module : network.modules()) {
    auto* const norm = dynamic_cast<BatchNorm*>(module.get());
    if (norm == nullptr) continue;
    norm->ResetStatistics();
    has_batch_norm = true;
  }
  return has_batch_norm;
}

}  // namespace

void CheckStanding(const StandingOptions& options, Faults& faults) {
  faults.CheckRange("standing_steps", options.steps, 0, kMaxSteps);
  faults.CheckRange("standing_batch", options.max_batch, 1, kMaxBatch);
}

absl::Status UseStandingStatistics(const StandingOptions& options,
                                   uint64_t seed, LoadedGenerator& generator) {
  if (options.steps == 0) return absl::OkStatus();
  Generator& network = *generator.network;
  auto* const own = dynamic_cast<GathersStatistics*>(&network);
  // PyTorch's batch norm refuses a batch with one value for each channel.
  const int64_t min_batch = own != nullptr ? 2 : 1;
  if (options.max_batch < min_batch) {
    return absl::InvalidArgumentError(
        absl::StrCat("standing_batch ", options.max_batch, " is below ",
                     min_batch, ", the smallest batch of a network in Python"));
  }
  if (own != nullptr && !own->GatherStatisticsAfresh()) {
    return absl::InvalidArgumentError(
        "standing_steps: no module of the generator is a torch.nn batch norm "
        "with running statistics, so there is nothing to gather; leave it out");
  }
  if (own == nullptr && !ResetBatchNorm(network)) {
    return absl::InvalidArgumentError(
        "standing_steps: the generator has no batch norm of gandem's own "
        "networks, so there is nothing to gather; leave it out");
  }
  const torch::NoGradGuard no_grad;
  const Compute& compute = generator.compute;
  for (int64_t step = 0; step < options.steps; ++step) {
    Batch batch =
        DrawBatch(options, min_batch, seed, static_cast<uint64_t>(step),
                  network.noise_dim(), generator.plan.data.shape.num_classes);
    if (generator.pairs) {
      const IndexRange range = {.first = step * options.max_batch,
                                .count = batch.noise_NZ.size(0)};
      GANDEM_ASSIGN_OR_RETURN(batch.condition,
                              generator.conditions(Purpose::kSample, 0, range));
    }
    at::Tensor& labels_N = batch.condition.labels_N;
    if (labels_N.defined()) labels_N = labels_N.to(compute.device);
    batch.condition.place = {.purpose = Purpose::kStandingStatistics,
                             .step = step};
    network.forward(batch.noise_NZ.to(compute.device, compute.dtype),
                    batch.condition, ForwardMode::kTrain);
  }
  return absl::OkStatus();
}

}  // namespace gandem
