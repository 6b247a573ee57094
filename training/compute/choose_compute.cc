// SPDX-License-Identifier: Apache-2.0
#include "training/compute/choose_compute.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/config/role_name.h"
#include "common/files/sha256.h"
#include "common/monotonic_time.h"
#include "common/process/log.h"
#include "common/process/machine.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

constexpr char kChoice[] = "compute.choice";
// A candidate is dropped if a step of 1 / kProbeShare of the batch takes as
// long as a whole step of the best candidate. Some precisions have no usable
// kernels on some machines. Chosen.
constexpr int64_t kProbeShare = 8;
// Candidates within kFinal times the best time are measured again in
// kFinalTurns turns, since a machine's speed drifts between turns. Chosen.
constexpr double kFinal = 1.5;
constexpr int kFinalTurns = 8;

struct Candidate {
  ComputeChoice choice;
  Compute compute;
  absl::Duration time = absl::InfiniteDuration();
};

// Sets candidate.time unless the probe drops the candidate.
absl::Status MeasureFirst(const NetworkPlan& plan, int steps,
                          absl::Duration best, Candidate& candidate) {
  GANDEM_ASSIGN_OR_RETURN(const StepCost probe,
                          MeasureStep(plan, candidate.compute,
                                      {.batch_size = std::max<int64_t>(
                                           2, plan.batch_size / kProbeShare),
                                       .steps = 1,
                                       .warmup_limit = best}));
  if (probe.time > best) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(
      const StepCost cost,
      MeasureStep(plan, candidate.compute,
                  {.steps = steps, .warmup_limit = 3 * best}));
  candidate.time = cost.time;
  return absl::OkStatus();
}

std::string Report(const std::vector<Candidate>& candidates) {
  std::string text;
  for (const Candidate& candidate : candidates) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", ToString(candidate.choice),
                    " ", absl::ToInt64Microseconds(candidate.time), " us");
  }
  return text;
}

absl::StatusOr<std::optional<ComputeChoice>> ReadChoice(
    const std::string& checkpoint, const std::string& role) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors,
                          ReadShards(checkpoint, role));
  const bool has = std::any_of(tensors.begin(), tensors.end(),
                               [](const auto& t) { return t.name == kChoice; });
  if (!has) return std::optional<ComputeChoice>();
  const at::Tensor stored = torch::zeros({2}, at::kLong);
  GANDEM_RETURN_IF_ERROR(TensorReader(tensors).Load("", {{kChoice, stored}}));
  const int precision = stored[0].item<int>();
  const int layout = stored[1].item<int>();
  if (!RoleConfig::Precision_IsValid(precision) ||
      precision == RoleConfig::AUTO || !MemoryLayout_IsValid(layout) ||
      layout == AUTO) {
    return absl::DataLossError(
        absl::StrCat(checkpoint, ": ", kChoice, " [", precision, ", ", layout,
                     "] is no precision and layout of this version"));
  }
  ComputeChoice choice;
  choice.set_precision(static_cast<RoleConfig::Precision>(precision));
  choice.set_layout(static_cast<MemoryLayout>(layout));
  return std::optional<ComputeChoice>(choice);
}

}  // namespace

bool IsAuto(const NetworkPlan& plan) {
  return plan.precision == RoleConfig::AUTO || plan.layout == AUTO;
}

std::vector<ComputeChoice> ComputeCandidates(const NetworkPlan& plan) {
  std::vector<RoleConfig::Precision> precisions = {plan.precision};
  if (plan.precision == RoleConfig::AUTO) {
    precisions = {RoleConfig::FLOAT32, RoleConfig::BFLOAT16};
    if (plan.may_be_float16) {
      precisions.push_back(RoleConfig::FLOAT16);
    }
    if (plan.device != "cpu") precisions.push_back(RoleConfig::TF32);
  }
  std::vector<MemoryLayout> layouts = {plan.layout};
  if (plan.layout == AUTO) layouts = {NCHW, CHANNELS_LAST};
  std::vector<ComputeChoice> choices;
  for (const auto precision : precisions) {
    for (const auto layout : layouts) {
      choices.emplace_back();
      choices.back().set_precision(precision);
      choices.back().set_layout(layout);
    }
  }
  return choices;
}

absl::StatusOr<ComputeChoice> FastestCompute(const NetworkPlan& plan,
                                             const FastestOptions& options) {
  const absl::Time deadline = MonotonicNow() + options.limit;
  std::vector<Candidate> candidates;
  absl::Duration best = absl::InfiniteDuration();
  for (const ComputeChoice& choice : ComputeCandidates(plan)) {
    if (!candidates.empty() && MonotonicNow() > deadline) break;
    GANDEM_ASSIGN_OR_RETURN(const Compute compute, ComputeFrom(plan, choice));
    Candidate candidate{.choice = choice, .compute = compute};
    const absl::Status measured =
        MeasureFirst(plan, options.steps, best, candidate);
    if (!measured.ok()) {
      if (candidates.empty()) return measured;
      GANDEM_LOG_WARN("AUTO skips {}: {}", ToString(choice), measured);
      continue;
    }
    best = std::min(best, candidate.time);
    candidates.push_back(candidate);
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.time > kFinal * best;
  });
  std::vector<absl::Duration> sums(candidates.size());
  int turns = 0;
  for (; turns < kFinalTurns && (turns == 0 || MonotonicNow() < deadline);
       ++turns) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(
          const StepCost cost,
          MeasureStep(plan, candidates[i].compute, {.steps = options.steps}));
      sums[i] += cost.time;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) candidates[i].time = sums[i] / turns;
  const Candidate& fastest = *std::min_element(
      candidates.begin(), candidates.end(),
      [](const auto& a, const auto& b) { return a.time < b.time; });
  GANDEM_LOG_INFO("AUTO: {}, the fastest of {}", ToString(fastest.choice),
                  Report(candidates));
  return fastest.choice;
}

std::string MeasuredFor(const NetworkPlan& plan) {
  Sha256 digest;
  digest.Update(plan.network.SerializeAsString());
  digest.Update(absl::StrCat(
      "|", plan.role, "|", plan.data.image.channels, "|",
      plan.data.image.height, "|", plan.data.image.width, "|",
      plan.data.num_classes, "|", plan.batch_size, "|", plan.micro_batch, "|",
      plan.device, "|", plan.threads, "|", plan.precision, "|", plan.layout,
      "|", plan.may_be_float16, "|", plan.recompute_blocks));
  for (const std::string& line :
       MachineKind(absl::StartsWith(plan.device, "cuda"))) {
    digest.Update(absl::StrCat("|", line));
  }
  return digest.Finish();
}

absl::StatusOr<ComputeChoice> ChooseCompute(
    const NetworkPlan& plan, const std::string& resume_from,
    const std::optional<ComputeChoice>& made_before) {
  if (!IsAuto(plan)) return Resolve(plan, {});
  if (!resume_from.empty()) {
    GANDEM_ASSIGN_OR_RETURN(const std::optional<ComputeChoice> kept,
                            ReadChoice(resume_from, RoleName(plan.role)));
    if (kept.has_value()) {
      GANDEM_LOG_INFO("AUTO: {}, as in the checkpoint", ToString(*kept));
      return Resolve(plan, *kept);
    }
  }
  if (made_before.has_value()) {
    GANDEM_LOG_INFO("AUTO: {}, as chosen earlier in this run",
                    ToString(*made_before));
    return Resolve(plan, *made_before);
  }
  return FastestCompute(plan);
}

ComputeChoice Resolve(const NetworkPlan& plan, const ComputeChoice& choice) {
  ComputeChoice resolved;
  resolved.set_precision(plan.precision == RoleConfig::AUTO ? choice.precision()
                                                            : plan.precision);
  resolved.set_layout(plan.layout == AUTO ? choice.layout() : plan.layout);
  return resolved;
}

TensorsByName ChoiceState(const NetworkPlan& plan,
                          const ComputeChoice& choice) {
  if (!IsAuto(plan)) return {};
  return {{kChoice, torch::tensor({static_cast<int64_t>(choice.precision()),
                                   static_cast<int64_t>(choice.layout())},
                                  at::kLong)}};
}

std::string ToString(const ComputeChoice& choice) {
  return absl::StrCat(RoleConfig::Precision_Name(choice.precision()), " ",
                      MemoryLayout_Name(choice.layout()));
}

}  // namespace gandem
