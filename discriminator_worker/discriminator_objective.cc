// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/discriminator_objective.h"

#include <optional>
#include <utility>

#include "common/check.h"
#include "models/autocast.h"
#include "models/foreign_network.h"
#include "models/layers/parameter_weights.h"
#include "models/torch.h"

namespace gandem {
namespace {

// An undefined `sum` counts as 0.
at::Tensor Plus(const at::Tensor& sum, const at::Tensor& term) {
  if (!sum.defined()) return term;
  return term.defined() ? sum + term : sum;
}

// Adds weight * penalty(). Does not compute a penalty with weight 0.
template <typename Penalty>
void AddPenalty(double weight, at::Tensor& sum, Penalty penalty) {
  if (weight > 0) sum = Plus(sum, weight * penalty());
}

// Returns the standard deviation of all values of all ranks.
double Deviation(const at::Tensor& own, FleetGather* fleet) {
  if (fleet == nullptr) return own.std().item<double>();
  const at::Tensor values = own.to(at::kDouble);
  const double count = static_cast<double>(values.numel());
  const at::Tensor mean = values.mean();
  const at::Tensor parts_R3 = fleet->Gather(at::stack(
      {at::full_like(mean, count), mean, (values - mean).square().sum()}));
  const at::Tensor counts_R = parts_R3.select(1, 0);
  const at::Tensor means_R = parts_R3.select(1, 1);
  const at::Tensor total = counts_R.sum();
  const at::Tensor whole_mean = (counts_R * means_R).sum() / total;
  const at::Tensor squares =
      parts_R3.select(1, 2) + counts_R * (means_R - whole_mean).square();
  return (squares.sum() / (total - 1)).sqrt().item<double>();
}

}  // namespace

DiscriminatorObjective::DiscriminatorObjective(
    ObjectiveOptions options, std::shared_ptr<Discriminator> network,
    int64_t batch_size, std::shared_ptr<FleetGather> fleet)
    : options_(std::move(options)),
      network_(std::move(network)),
      weighs_images_(dynamic_cast<HasForeignLayers*>(network_.get()) ==
                     nullptr),
      batch_size_(batch_size),
      fleet_(std::move(fleet)),
      lecam_(options_.penalties),
      ada_(NewAdaController(options_.augmentation.ada, network_.get(),
                            batch_size_)) {}

void DiscriminatorObjective::BeginStep(int64_t step,
                                       const at::Tensor& real_NCHW,
                                       const std::vector<IndexRange>& ranges) {
  GANDEM_CHECK(waiting_.empty());
  step_ = step;
  penalized_.clear();
  gradient_factor_ = options_.penalties.GradientFactor(step);
  second_factor_ = 0;
  if (options_.penalties.separate) std::swap(gradient_factor_, second_factor_);
  real_logit_sum_ = generated_logit_sum_ = {};
  if (options_.penalties.dragan * gradient_factor_ > 0) {
    // The points surround the augmented images.
    std::vector<at::Tensor> seen;
    int64_t first = 0;
    for (const IndexRange& range : ranges) {
      seen.push_back(Augmented(real_NCHW.narrow(0, first, range.count),
                               Key(Purpose::kAugmentReal, range.first),
                               /*gradient_weight=*/0));
      first += range.count;
    }
    real_deviation_ = Deviation(torch::cat(seen), fleet_.get());
  }
}

DiscriminatorObjective::Share DiscriminatorObjective::Real(
    const at::Tensor& images_NCHW, const Condition& given,
    int64_t first_index) {
  const PenaltyOptions& penalties = options_.penalties;
  const DrawKey key = Key(Purpose::kAugmentReal, first_index);
  const Condition condition = given.At(key.place());
  const at::Tensor seen_NCHW =
      Augmented(images_NCHW, key, penalties.r1 * gradient_factor_);
  const Verdict verdict =
      Judge(seen_NCHW, condition, penalties.r1 * gradient_factor_);
  if (penalties.r1 * second_factor_ > 0) {
    penalized_.push_back(
        {.images_NCHW = seen_NCHW.detach(), .condition = condition});
  }
  at::Tensor loss;
  if (!IsRelativistic(options_.loss)) {
    loss = RealLoss(options_.loss, verdict.logits, batch_size_);
  }
  if (options_.has_class_loss()) {
    loss =
        Plus(loss, ClassLoss(options_.class_loss, verdict, condition.labels_N));
  }
  loss = Plus(loss, RealPenalties(seen_NCHW, condition, verdict, first_index));
  if (ada_) {
    for (const at::Tensor& output : verdict.logits.outputs()) ada_->Add(output);
  }
  const at::Tensor logit_sum = LogitSum(verdict.logits).detach();
  real_logit_sum_.Add(logit_sum);
  const bool waits = RealWaits();
  if (waits || penalties.gradient_penalty * gradient_factor_ > 0) {
    waiting_[first_index] = {
        .images_NCHW = seen_NCHW.detach(),
        .condition = condition,
        .logits = waits ? verdict.logits : Logits(),
        .loss = waits ? std::exchange(loss, at::Tensor()) : at::Tensor()};
  }
  return {.loss = loss, .root = loss, .logit_sum = logit_sum};
}

DiscriminatorObjective::Share DiscriminatorObjective::Generated(
    const at::Tensor& images_NCHW, const Condition& given,
    int64_t first_index) {
  const DrawKey key = Key(Purpose::kAugmentGenerated, first_index);
  const Condition condition = given.At(key.place());
  const at::Tensor seen_NCHW =
      Augmented(images_NCHW, key, options_.penalties.r2 * gradient_factor_);
  const bool in_one_pass =
      images_NCHW.requires_grad() && options_.fused_in_one_pass;
  // Weights of the images in the parameter gradients, known after the logits.
  at::Tensor weights_N;
  if (in_one_pass && weighs_images_) {
    weights_N = at::zeros({images_NCHW.size(0)}, images_NCHW.options());
  }
  const Verdict verdict = [&] {
    const ParameterWeightsScope scope(weights_N);
    return Judge(seen_NCHW, condition,
                 options_.penalties.r2 * gradient_factor_);
  }();
  const Logits& logits = verdict.logits;
  TrainingPass pass;
  if (images_NCHW.requires_grad()) {
    pass = {.images_NCHW = images_NCHW,
            .verdict = verdict,
            .labels_N = condition.labels_N};
  }
  at::Tensor loss;
  if (IsRelativistic(options_.loss)) {
    pass.real_logits = waiting_.at(first_index).logits;
    loss = DiscriminatorPairLoss(options_.loss, pass.real_logits, logits);
  } else {
    loss = GeneratedLoss(options_.loss, logits, batch_size_);
  }
  if (RealWaits()) loss = Plus(loss, waiting_.at(first_index).loss);
  at::Tensor root = loss;
  if (in_one_pass) {
    const at::Tensor slopes_N =
        GeneratedSlopes(options_.loss, logits.One(), batch_size_);
    if (weighs_images_) {
      weights_N.copy_(slopes_N);
      root = logits.One().sum();
      pass.root_slopes_N = at::ones_like(slopes_N);
    } else {
      pass.root_slopes_N = RootSlopesOfLoss(slopes_N, batch_size_);
    }
  }
  const at::Tensor logit_sum = LogitSum(logits).detach();
  generated_logit_sum_.Add(logit_sum);
  if (MovesLecamFirst()) UpdateLecam();
  const at::Tensor penalties =
      GeneratedPenalties(seen_NCHW, condition, verdict, first_index);
  waiting_.erase(first_index);
  return {.loss = Plus(loss, penalties),
          .root = Plus(root, penalties),
          .logit_sum = logit_sum,
          .pass = std::move(pass)};
}

at::Tensor DiscriminatorObjective::SecondShare(size_t share) const {
  const Penalized& real = penalized_.at(share);
  const at::Tensor leaf = real.images_NCHW.detach().set_requires_grad(true);
  const SecondOrderScope second_order;
  const Verdict verdict =
      network_->forward(leaf, real.condition, ForwardMode::kFrozen);
  return options_.penalties.r1 * second_factor_ *
         Mean(SquaredNormPenalties(ImageGradient(verdict.logits, leaf)));
}

TensorsByName DiscriminatorObjective::State() const {
  TensorsByName state = lecam_.State();
  if (ada_) {
    for (auto& item : ada_->State()) state.push_back(std::move(item));
  }
  return state;
}

void DiscriminatorObjective::EndStep() {
  if (ada_) ada_->EndStep(step_, fleet_.get());
  if (options_.penalties.lecam > 0 && !MovesLecamFirst()) UpdateLecam();
}

void DiscriminatorObjective::UpdateLecam() {
  double real = real_logit_sum_.Value();
  double generated = generated_logit_sum_.Value();
  if (fleet_) {
    const at::Tensor sums_2 =
        fleet_->Gather(torch::tensor({real, generated}, at::kDouble)).sum(0);
    real = sums_2[0].item<double>();
    generated = sums_2[1].item<double>();
  }
  const double images = static_cast<double>(batch_size_);
  lecam_.Update(step_, real / images, generated / images);
}

DrawKey DiscriminatorObjective::Key(Purpose purpose,
                                    int64_t first_index) const {
  return {.seed = options_.seed,
          .purpose = purpose,
          .step = step_,
          .first_index = first_index};
}

at::Tensor DiscriminatorObjective::Augmented(const at::Tensor& images_NCHW,
                                             const DrawKey& key,
                                             double gradient_weight) const {
  if (images_NCHW.requires_grad()) {
    return Augment(images_NCHW, options_.augmentation, *network_, key);
  }
  const torch::NoGradGuard no_grad;
  at::Tensor seen =
      Augment(images_NCHW, options_.augmentation, *network_, key).detach();
  // The penalty shares the training pass, so the images need a gradient.
  if (gradient_weight > 0) seen.set_requires_grad(true);
  return seen;
}

Verdict DiscriminatorObjective::Judge(const at::Tensor& images_NCHW,
                                      const Condition& condition,
                                      double gradient_weight) const {
  std::optional<SecondOrderScope> second_order;
  if (gradient_weight > 0) second_order.emplace();
  return network_->forward(images_NCHW, condition, ForwardMode::kTrain);
}

at::Tensor DiscriminatorObjective::RealPenalties(const at::Tensor& images_NCHW,
                                                 const Condition& condition,
                                                 const Verdict& verdict,
                                                 int64_t first_index) {
  const PenaltyOptions& weights = options_.penalties;
  at::Tensor sum;
  AddPenalty(weights.r1 * gradient_factor_, sum, [&] {
    return Mean(
        SquaredNormPenalties(ImageGradient(verdict.logits, images_NCHW)));
  });
  AddPenalty(weights.dragan * gradient_factor_, sum, [&] {
    const int64_t values = images_NCHW.numel() / images_NCHW.size(0);
    const DrawKey key = Key(Purpose::kPenaltyPoint, first_index);
    const at::Tensor points_NCHW =
        Perturb(images_NCHW, real_deviation_,
                UniformDraws(key, images_NCHW.size(0), 1 + values));
    return UnitNormPenaltyAt(points_NCHW, condition.At(key.place()));
  });
  AddPenalty(weights.consistency_real, sum, [&] {
    return Consistency(images_NCHW, condition, verdict,
                       Key(Purpose::kConsistencyReal, first_index));
  });
  AddPenalty(MovesLecamFirst() ? 0 : lecam_weight(), sum,
             [&] { return Mean(lecam_.RealPenalties(verdict.logits)); });
  return sum;
}

at::Tensor DiscriminatorObjective::GeneratedPenalties(
    const at::Tensor& images_NCHW, const Condition& condition,
    const Verdict& verdict, int64_t first_index) {
  const PenaltyOptions& weights = options_.penalties;
  at::Tensor sum;
  AddPenalty(weights.r2 * gradient_factor_, sum, [&] {
    return Mean(
        SquaredNormPenalties(ImageGradient(verdict.logits, images_NCHW)));
  });
  AddPenalty(weights.gradient_penalty * gradient_factor_, sum, [&] {
    const Waiting& real = waiting_.at(first_index);
    const DrawKey key = Key(Purpose::kPenaltyPoint, first_index);
    const at::Tensor points_NCHW =
        Interpolate(real.images_NCHW, images_NCHW,
                    UniformDraws(key, images_NCHW.size(0), 1));
    // Labels are those of the real images (models.md 4.3).
    return UnitNormPenaltyAt(points_NCHW, real.condition.At(key.place()));
  });
  AddPenalty(weights.consistency_generated, sum, [&] {
    return Consistency(images_NCHW, condition, verdict,
                       Key(Purpose::kConsistencyGenerated, first_index));
  });
  AddPenalty(lecam_weight(), sum,
             [&] { return Mean(lecam_.GeneratedPenalties(verdict.logits)); });
  AddPenalty(MovesLecamFirst() ? lecam_weight() : 0, sum, [&] {
    return Mean(lecam_.RealPenalties(waiting_.at(first_index).logits));
  });
  return sum;
}

at::Tensor DiscriminatorObjective::UnitNormPenaltyAt(
    const at::Tensor& images_NCHW, const Condition& condition) const {
  const at::Tensor leaf = images_NCHW.detach().set_requires_grad(true);
  const SecondOrderScope second_order;
  const Verdict verdict =
      network_->forward(leaf, condition, ForwardMode::kFrozen);
  return Mean(UnitNormPenalties(ImageGradient(verdict.logits, leaf)));
}

// Equal dropout masks: the penalty measures only the image's change.
at::Tensor DiscriminatorObjective::Consistency(const at::Tensor& images_NCHW,
                                               const Condition& condition,
                                               const Verdict& verdict,
                                               const DrawKey& key) const {
  const at::Tensor copy_NCHW = ConsistencyCopy(
      images_NCHW, UniformDraws(key, images_NCHW.size(0), kConsistencyDraws));
  return Mean(ConsistencyPenalties(
      verdict, network_->forward(copy_NCHW, condition, ForwardMode::kFrozen)));
}

}  // namespace gandem
