// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/process/failpoint.h"
#include "common/process/machine.h"
#include "common/status.h"
#include "discriminator_worker/data_meter.h"
#include "discriminator_worker/discriminator_role.h"
#include "discriminator_worker/kept_dataset.h"
#include "models/foreign_network.h"
#include "models/torch.h"
#include "pipeline/feed/prefetcher.h"
#include "pipeline/unreadable.h"
#include "training/compute/choose_compute.h"
#include "training/compute/compute.h"
#include "training/fleet/sync_batch_norm.h"
#include "training/inputs/pairs.h"
#include "training/objective/augment.h"
#include "training/optimizers/freeze_parameters.h"
#include "training/optimizers/make_optimizer.h"
#include "training/roles/role_parts.h"

namespace gandem {
namespace {

constexpr int kMaxDecodeThreads = 256;

// Reads real images ahead in the run's order, with labels or pairs.
RealImageSource ReadRealImages(const DataPlan& plan, int64_t count,
                               const ImageShape& stored,
                               std::shared_ptr<Prefetcher> prefetcher,
                               const Compute& compute) {
  const TensorFormat format{.channels = stored.channels,
                            .height = stored.height,
                            .width = stored.width};
  const bool has_classes = plan.shape.num_classes > 0;
  const bool has_pairs = plan.has_pairs();
  const int64_t channels = plan.shape.image.channels;
  return RealImageSource(
      [=](int64_t step, absl::Time deadline) -> absl::StatusOr<RealImages> {
        absl::StatusOr<RealBatch> read = prefetcher->Next(deadline);
        // The file would be unreadable in the next run epoch, too.
        if (IsUnreadable(read.status())) {
          return absl::InvalidArgumentError(read.status().message());
        }
        GANDEM_ASSIGN_OR_RETURN(const RealBatch batch, std::move(read));
        if (batch.step != step) {
          return absl::InternalError(absl::StrCat(
              "real images of step ", batch.step, ", wanted ", step));
        }
        RealImages real = {
            .images_NCHW = UnpackImages(batch.pixels, count, format, compute)};
        if (has_pairs) return SplitPairs(real.images_NCHW, channels, compute);
        if (has_classes) {
          real.condition.labels_N =
              ToDevice(torch::tensor(batch.labels, at::kLong), compute.device);
        }
        return real;
      });
}

// Cores beyond the compute threads, if `gandem train` had some left.
int FreeCores(const Compute& compute) {
  return std::max(UsableCores() - compute.threads, 0);
}

// Opens the dataset for real images and for the conditions of generated ones.
absl::Status OpenData(const RunPlan& plan, const RoleSetup& setup,
                      const Compute& compute, KeptDataset& kept,
                      DiscriminatorRole::Parts& parts) {
  const DataPlan& data = plan.data;
  GANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          kept.Open(data));
  std::shared_ptr<const PairReader> pairs;
  if (data.has_pairs()) {
    pairs = std::make_shared<const PairReader>(data, dataset, compute);
  }
  GANDEM_ASSIGN_OR_RETURN(
      parts.condition, OpenConditions(data, std::move(pairs), compute.device));
  // The rest is for blocks of remote files.
  const int64_t memory_bytes =
      data.files.memory_bytes() / (plan.judges_with_real_images ? 4 : 2);
  std::vector<std::shared_ptr<Prefetcher>> prefetchers;
  const auto read_from =
      [&](int64_t first_step, int64_t images,
          int64_t batches) -> absl::StatusOr<RealImageSource> {
    const IndexRange slice = RankSlice(images / batches, setup.place.rank,
                                       plan.discriminator.workers);
    GANDEM_ASSIGN_OR_RETURN(
        prefetchers.emplace_back(),
        Prefetcher::Create(dataset,
                           {.seed = data.seed,
                            .first_step = first_step,
                            .batch_size = images / batches,
                            .batches = batches,
                            .first_image = slice.first,
                            .num_images = slice.count,
                            .depth = data.files.prefetch_batches(),
                            .memory_bytes = memory_bytes,
                            .max_workers = std::clamp(FreeCores(compute), 1,
                                                      kMaxDecodeThreads)}));
    return ReadRealImages(data, batches * slice.count, dataset->shape(),
                          prefetchers.back(), compute);
  };
  const int64_t first_round = setup.place.first_round;
  const Schedule& schedule = plan.schedule();
  GANDEM_ASSIGN_OR_RETURN(
      parts.real_images,
      read_from(first_round * schedule.discriminator_steps_per_round,
                schedule.discriminator_batch, schedule.discriminator_batches));
  if (plan.judges_with_real_images) {
    // The order is equal; with REUSED images each round has the same images.
    GANDEM_ASSIGN_OR_RETURN(parts.judging_images,
                            read_from(first_round, schedule.generator_batch,
                                      schedule.generator_batches));
  }
  parts.data_metrics = [meter = std::make_shared<DataMeter>(
                            std::move(prefetchers), FreeCores(compute))] {
    return meter->Take();
  };
  return absl::OkStatus();
}

// Opens the data while the wait is reported, because a mount may hang.
absl::Status WaitForData(const RunPlan& plan, const RoleSetup& setup,
                         const Compute& compute, KeptDataset& kept,
                         DiscriminatorRole::Parts& parts) {
  WaitBoard* const waits = setup.services.waits;
  if (waits != nullptr) waits->Begin(WorkerPosition::DATA);
  const absl::Cleanup end = [waits] {
    if (waits != nullptr) waits->End();
  };
  GANDEM_FAILPOINT("discriminator.before_data");
  return OpenData(plan, setup, compute, kept, parts);
}

// Checks a property of the discriminator that its config does not show.
absl::Status CheckOnePass(const RunPlan& plan, Discriminator& network) {
  if (!plan.objective.fused_in_one_pass) return absl::OkStatus();
  const auto* const foreign = dynamic_cast<HasForeignLayers*>(&network);
  const std::string why = foreign == nullptr ? "" : foreign->WhyTwoPasses();
  if (why.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("schedule.fused_backward ONE_PASS is not exact with this "
                   "discriminator: ",
                   why, ". Set schedule.fused_backward=AUTO"));
}

absl::StatusOr<std::unique_ptr<TrainingRole>> MakeDiscriminatorRole(
    const RunPlan& plan, const RoleSetup& setup,
    DiscriminatorExchange* exchange, KeptDataset& kept) {
  const RolePlan& role_plan = plan.discriminator;
  const NetworkPlan& network_plan = role_plan.network;
  const ComputeChoice choice =
      Resolve(network_plan, setup.discriminator_choice);
  GANDEM_ASSIGN_OR_RETURN(const Compute compute,
                          ComputeFrom(network_plan, choice));
  UseThreads(compute);
  DiscriminatorRole::Parts parts;
  parts.compute = compute;
  parts.compute_choice = ChoiceState(network_plan, choice);
  parts.scaler = NewScaler(role_plan, compute);
  GANDEM_ASSIGN_OR_RETURN(parts.network,
                          NewDiscriminator(network_plan, compute));
  GANDEM_RETURN_IF_ERROR(CheckOnePass(plan, *parts.network));
  SyncIfAsked(role_plan, setup, *parts.network);
  SaltAfterRollback(plan, *parts.network);
  GANDEM_RETURN_IF_ERROR(
      BeginAsGiven(setup, "discriminator", {parts.network.get()}));
  GANDEM_RETURN_IF_ERROR(FreezeParameters("discriminator", role_plan.freeze,
                                          role_plan.optimizer, *parts.network));
  const std::optional<AdaOptions> ada = plan.objective.augmentation.ada;
  AddAdaBuffer(ada, *parts.network);
  parts.new_critic = [=]() -> absl::StatusOr<Critic> {
    GANDEM_ASSIGN_OR_RETURN(auto network,
                            NewDiscriminator(network_plan, compute));
    SaltAfterRollback(plan, *network);
    AddAdaBuffer(ada, *network);
    return Critic{.network = std::move(network), .compute = compute};
  };
  parts.optimizer =
      MakeOptimizer(role_plan.optimizer, TrainedParametersOf(*parts.network),
                    role_plan.optimizer_use);
  parts.synchronizer = NewSynchronizer(role_plan, setup, *parts.network,
                                       *parts.optimizer, parts.scaler.get());
  if (setup.fleet.host != nullptr) parts.fleet = GatherOver(setup.fleet.host);
  GANDEM_RETURN_IF_ERROR(WaitForData(plan, setup, compute, kept, parts));
  RunPlan resolved = plan;
  // A loss scale that makes the discriminator's gradient infinite must not
  // affect the generator's.
  if (compute.NeedsLossScale()) resolved.objective.fused_in_one_pass = false;
  auto role = std::make_unique<DiscriminatorRole>(std::move(resolved),
                                                  setup.place, std::move(parts),
                                                  exchange, ServicesOf(setup));
  GANDEM_RETURN_IF_ERROR(RestoreIfResumed(setup, "discriminator", *role));
  return role;
}

}  // namespace

RoleFactory<DiscriminatorExchange> DiscriminatorRoles() {
  return [kept = std::make_shared<KeptDataset>()](
             const RunPlan& plan, const RoleSetup& setup,
             DiscriminatorExchange* exchange) {
    return MakeDiscriminatorRole(plan, setup, exchange, *kept);
  };
}

}  // namespace gandem
