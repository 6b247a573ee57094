// SPDX-License-Identifier: Apache-2.0
#include "training/fleet/gradient_synchronizer.h"

#include <functional>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/control/majority.h"
#include "common/crc32c.h"
#include "common/status.h"
#include "models/network.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Appends all tensors that are floating-point, or all that are not.
void Append(const TensorsByName& tensors, bool floating,
            std::vector<at::Tensor>& to) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.is_floating_point() == floating) to.push_back(tensor);
  }
}

// Adds the name of the first mean that is not finite to `failure`. All ranks
// have the same means and so report the same name.
absl::Status Named(const absl::Status& failure, const TensorsByName& means) {
  for (const auto& [name, mean] : means) {
    if (!IsFinite(mean)) return Annotate(failure, name);
  }
  return failure;
}

bool IsImageMean(const TensorsByName::value_type& buffer) {
  return absl::EndsWith(buffer.first, kImageMeanSuffix) &&
         buffer.second.is_floating_point();
}

}  // namespace

GradientSynchronizer::GradientSynchronizer(const Options& options, State state,
                                           const FleetCollectives& fleet)
    : options_(options), state_(std::move(state)), fleet_(fleet) {
  GANDEM_CHECK(options_.interval >= 1 && options_.share > 0);
  if (fleet_.tensors->size() == 1) return;
  std::vector<at::Tensor> copied;
  if (options_.mode == Mode::kAccumulate) {
    buckets_ = std::make_unique<GradientBuckets>(
        GradientBuckets::Options{.bucket_bytes = options_.bucket_bytes,
                                 .wire = options_.wire,
                                 .may_be_infinite = options_.may_be_infinite},
        state_.parameters, fleet_);
    TensorsByName others = state_.buffers;
    std::erase_if(others, &IsImageMean);
    Append(others, /*floating=*/true, copied);
    Append(others, /*floating=*/false, copied);
    TensorsByName means = state_.buffers;
    std::erase_if(means, std::not_fn(&IsImageMean));
    if (!means.empty()) {
      std::vector<at::Tensor> averaged;
      Append(means, /*floating=*/true, averaged);
      means_ = std::make_unique<StateAverage>(
          options_.share, /*parameters=*/std::vector<at::Tensor>(), averaged,
          options_.bucket_bytes, fleet_);
    }
  } else {
    std::vector<at::Tensor> parameters;
    Append(state_.parameters, /*floating=*/true, parameters);
    std::vector<at::Tensor> others;
    Append(state_.buffers, /*floating=*/true, others);
    Append(state_.optimizer, /*floating=*/true, others);
    average_ = std::make_unique<StateAverage>(
        options_.share, parameters, others, options_.bucket_bytes, fleet_);
    Append(state_.buffers, /*floating=*/false, copied);
    Append(state_.optimizer, /*floating=*/false, copied);
  }
  copied_ = std::make_unique<CopiedTensors>(std::move(copied), fleet_);
}

GradientSynchronizer::~GradientSynchronizer() {
  if (phase_ == Phase::kIdle) return;
  for (Collective* const collective : {fleet_.tensors, fleet_.host}) {
    collective->Close(absl::CancelledError("the step was given up"));
    // The barrier fails once no operation is in progress.
    (void)collective->Wait(collective->Barrier(), absl::InfiniteFuture());
  }
}

void GradientSynchronizer::ExpectLastBackward() {
  if (!buckets_) return;
  phase_ = Phase::kReduce;
  // All forward passes of the step are complete.
  copied_->Launch();
  if (means_) means_->Launch();
  buckets_->ExpectLastBackward();
}

absl::Status GradientSynchronizer::Reduce(absl::Time deadline) {
  if (average_) TakeMeanOfOwnImages();
  if (!buckets_) return absl::OkStatus();
  GANDEM_CHECK(phase_ == Phase::kReduce);
  buckets_->Launch();
  GANDEM_RETURN_IF_ERROR(copied_->Finish(deadline));
  if (means_) GANDEM_RETURN_IF_ERROR(means_->Finish(deadline));
  GANDEM_RETURN_IF_ERROR(buckets_->Finish(deadline));
  phase_ = Phase::kIdle;
  return absl::OkStatus();
}

// Losses are means over the role's batch, but a rank that updates independently
// needs the mean over its own images.
void GradientSynchronizer::TakeMeanOfOwnImages() {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : state_.parameters) {
    if (parameter.grad().defined()) parameter.grad().div_(options_.share);
  }
}

// Each phase may end in a deadline; the next call resumes it.
absl::Status GradientSynchronizer::AfterUpdate(int64_t step,
                                               absl::Time deadline) {
  if (fleet_.tensors->size() == 1) return absl::OkStatus();
  if (phase_ == Phase::kIdle && average_ && step % options_.interval == 0) {
    copied_->Launch();
    average_->Launch();
    phase_ = Phase::kAverage;
  }
  if (phase_ == Phase::kAverage) {
    // The copies were sent first, so they are complete once the average is:
    // either both are applied or neither.
    const absl::Status averaged = average_->Finish(deadline);
    if (absl::IsOutOfRange(averaged)) return Named(averaged, state_.parameters);
    GANDEM_RETURN_IF_ERROR(averaged);
    GANDEM_RETURN_IF_ERROR(copied_->Finish(deadline));
    phase_ = Phase::kIdle;
  }
  if (phase_ == Phase::kIdle && ComparesAfter(step)) {
    LaunchComparison();
    phase_ = Phase::kCompare;
  }
  if (phase_ == Phase::kCompare) {
    GANDEM_RETURN_IF_ERROR(FinishComparison(deadline));
    phase_ = Phase::kIdle;
  }
  return absl::OkStatus();
}

bool GradientSynchronizer::ComparesAfter(int64_t step) const {
  const int64_t interval = options_.divergence_check_interval;
  if (interval == 0) return false;
  if (!average_) return step % interval == 0;
  // First average at or after every interval-th update.
  return step % options_.interval == 0 && step % interval < options_.interval;
}

TensorsByName GradientSynchronizer::AllState() const {
  TensorsByName all = state_.parameters;
  all.insert(all.end(), state_.frozen.begin(), state_.frozen.end());
  all.insert(all.end(), state_.buffers.begin(), state_.buffers.end());
  for (const auto& [name, tensor] : state_.optimizer) {
    all.emplace_back(absl::StrCat("optimizer.", name), tensor);
  }
  return all;
}

// Gathers every rank's checksum of every tensor, to name both in the message.
void GradientSynchronizer::LaunchComparison() {
  const TensorsByName state = AllState();
  checksums_.assign(state.size() * fleet_.host->size(), 0);
  for (size_t i = 0; i < state.size(); ++i) {
    const at::Tensor host = state[i].second.detach().to(at::kCPU).contiguous();
    checksums_[fleet_.host->rank() * state.size() + i] =
        Crc32c({static_cast<const std::byte*>(host.const_data_ptr()),
                static_cast<size_t>(host.nbytes())});
  }
  comparison_ =
      fleet_.host->AllGather(std::as_writable_bytes(std::span(checksums_)));
}

absl::Status GradientSynchronizer::FinishComparison(absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(fleet_.host->Wait(comparison_, deadline));
  const TensorsByName state = AllState();
  for (size_t i = 0; i < state.size(); ++i) {
    std::vector<uint32_t> of_ranks;
    for (int rank = 0; rank < fleet_.host->size(); ++rank) {
      of_ranks.push_back(checksums_[rank * state.size() + i]);
    }
    const std::vector<size_t> apart = OutsideMajority(of_ranks);
    if (apart.empty()) continue;
    return MarkStatesDiffer(absl::DataLossError(absl::StrCat(
        "the states of this fleet differ: ", state[i].first, " of ",
        apart.size() == 1 ? "rank " : "ranks ", absl::StrJoin(apart, ", "),
        apart.size() < of_ranks.size() ? " is not that of most ranks"
                                       : " has no value that most ranks have",
        ". A memory, a processor or a program is at fault")));
  }
  return absl::OkStatus();
}

}  // namespace gandem
