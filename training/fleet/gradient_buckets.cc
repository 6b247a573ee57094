// SPDX-License-Identifier: Apache-2.0
#include "training/fleet/gradient_buckets.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

// Base of the two digits that encode 1 + the index of a parameter. Every wire
// type represents such integers exactly.
constexpr int64_t kBase = 128;

}  // namespace

class GradientBuckets::Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientBuckets* buckets, size_t parameter)
      : buckets_(buckets), parameter_(parameter) {}
  void operator()(const at::Tensor&) override {
    buckets_->OnGradient(parameter_);
  }

 private:
  GradientBuckets* const buckets_;
  const size_t parameter_;
};

GradientBuckets::GradientBuckets(const Options& options,
                                 TensorsByName parameters,
                                 const FleetCollectives& fleet)
    : options_(options),
      parameters_(std::move(parameters)),
      collective_(fleet.tensors),
      device_(fleet.device),
      bucket_of_(parameters_.size()),
      is_ready_(parameters_.size()) {
  GANDEM_CHECK(!parameters_.empty() && parameters_.size() < kBase * kBase);
  MakeBuckets();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters_[i].second, std::make_unique<Hook>(this, i));
  }
}

GradientBuckets::~GradientBuckets() {
  for (const auto& [name, parameter] : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

// Reverses the order, because the last parameters get their gradients first.
// The last bucket also has the flags of all parameters.
void GradientBuckets::MakeBuckets() {
  std::vector<at::Tensor> reversed;
  for (size_t i = parameters_.size(); i-- > 0;) {
    reversed.push_back(parameters_[i].second);
  }
  size_t left = parameters_.size();
  for (const auto& tensors :
       SplitIntoBuckets(reversed, options_.bucket_bytes)) {
    std::vector<size_t> members;
    for (size_t i = 0; i < tensors.size(); ++i) {
      members.push_back(--left);
      bucket_of_[left] = buckets_.size();
    }
    int64_t flags = 0;
    if (left == 0) flags = std::ssize(parameters_) + 2 * collective_->size();
    const at::ScalarType type = options_.wire == at::ScalarType::Undefined
                                    ? tensors.front().scalar_type()
                                    : options_.wire;
    buckets_.push_back({.members = std::move(members),
                        .values = FlatTensors(tensors, type, flags, device_)});
  }
}

// Gradients arrive in any order, but all ranks send buckets in the same order:
// a full bucket waits for the buckets before it.
void GradientBuckets::OnGradient(size_t parameter) {
  if (!is_last_backward_) return;
  const size_t index = bucket_of_[parameter];
  if (index < num_left_) {
    late_ = parameters_[parameter].first;
    return;
  }
  if (is_ready_[parameter]) return;
  is_ready_[parameter] = true;
  ++buckets_[index].num_ready;
  while (num_left_ < buckets_.size() &&
         buckets_[num_left_].num_ready == buckets_[num_left_].members.size()) {
    Pack(buckets_[num_left_]);
  }
}

// Sends the buckets with missing gradients, which no hook has sent.
void GradientBuckets::Launch() {
  is_last_backward_ = false;
  while (num_left_ < buckets_.size()) Pack(buckets_[num_left_]);
}

// A missing gradient counts as 0, since another rank may have it.
void GradientBuckets::Pack(Bucket& bucket) {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < bucket.members.size(); ++i) {
    const at::Tensor& gradient = parameters_[bucket.members[i]].second.grad();
    at::Tensor values = bucket.values[i];
    if (gradient.defined()) {
      values.copy_(gradient);
    } else {
      values.zero_();
    }
  }
  if (first_infinite_ < 0 && !IsFinite(bucket.values.all())) {
    for (size_t i = 0; i < bucket.members.size() && first_infinite_ < 0; ++i) {
      // Check the gradient, since a finite value may overflow the wire type.
      const at::Tensor& own = parameters_[bucket.members[i]].second.grad();
      if (own.defined() && !IsFinite(own)) {
        first_infinite_ = static_cast<int64_t>(bucket.members[i]);
      }
    }
  }
  if (++num_left_ == buckets_.size()) PackFlags(bucket.values.extra());
  bucket.ticket = collective_->AllReduce(bucket.values.bytes(),
                                         bucket.values.element_type());
}

// Flags are summed like gradients: the number of ranks with a gradient of each
// parameter and, in separate digits for each rank, its first parameter with a
// gradient that is not finite.
void GradientBuckets::PackFlags(const at::Tensor& flags) const {
  std::vector<double> numbers(flags.numel());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    numbers[i] = parameters_[i].second.grad().defined() ? 1 : 0;
  }
  double* const mine =
      numbers.data() + parameters_.size() + 2 * collective_->rank();
  mine[0] = static_cast<double>((first_infinite_ + 1) / kBase);
  mine[1] = static_cast<double>((first_infinite_ + 1) % kBase);
  at::Tensor(flags).copy_(torch::tensor(numbers, at::kDouble));
}

// Unpacks each bucket once, even if a deadline interrupts the loop. All ranks
// see the same flags and return the same status.
absl::Status GradientBuckets::Finish(absl::Time deadline) {
  while (num_back_ < buckets_.size()) {
    const Bucket& bucket = buckets_[num_back_];
    GANDEM_RETURN_IF_ERROR(collective_->Wait(bucket.ticket, deadline));
    Unpack(bucket);
    ++num_back_;
  }
  const absl::Status good = CheckFlags(buckets_.back().values.extra());
  num_left_ = num_back_ = 0;
  for (Bucket& bucket : buckets_) bucket.num_ready = 0;
  is_ready_.assign(parameters_.size(), false);
  first_infinite_ = -1;
  sums_are_finite_ = true;
  return good;
}

void GradientBuckets::Unpack(const Bucket& bucket) {
  const torch::NoGradGuard no_grad;
  sums_are_finite_ = sums_are_finite_ && IsFinite(bucket.values.all());
  for (size_t i = 0; i < bucket.members.size(); ++i) {
    at::Tensor parameter = parameters_[bucket.members[i]].second;
    if (!parameter.grad().defined()) {
      parameter.mutable_grad() = at::empty_like(parameter);
    }
    parameter.mutable_grad().copy_(bucket.values[i]);
  }
}

absl::Status GradientBuckets::CheckFlags(const at::Tensor& flags) const {
  if (!late_.empty()) {
    return absl::InternalError(
        absl::StrCat("parameter ", late_,
                     " got a second gradient in the last backward pass of a "
                     "step, when the first had left"));
  }
  const at::Tensor numbers = flags.to(at::kCPU, at::kDouble);
  const double* const number = numbers.const_data_ptr<double>();
  std::vector<std::string> unused;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (number[i] == 0) unused.push_back(parameters_[i].first);
  }
  if (!unused.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no backward pass of the step has reached these parameters, on any "
        "rank: ",
        absl::StrJoin(unused, ", "),
        "; choose a loss or a network that uses them"));
  }
  if (sums_are_finite_ || options_.may_be_infinite) return absl::OkStatus();
  for (int rank = 0; rank < collective_->size(); ++rank) {
    const double* const digits = number + parameters_.size() + 2 * rank;
    const int64_t parameter = static_cast<int64_t>(digits[0]) * kBase +
                              static_cast<int64_t>(digits[1]) - 1;
    if (parameter < 0) continue;
    return absl::OutOfRangeError(
        absl::StrCat("the gradient of ", parameters_[parameter].first,
                     " on rank ", rank, " is not finite"));
  }
  return absl::OutOfRangeError(
      "the sum of the ranks' gradients is not finite, though each of them is: "
      "it, or one of them, is too large for sync.wire");
}

}  // namespace gandem
