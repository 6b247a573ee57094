// SPDX-License-Identifier: Apache-2.0
#include "training/fleet/state_average.h"

#include <cmath>
#include <optional>
#include <utility>

#include "common/status.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Computes in double, since squares may overflow the tensor's type.
double SquaredNorm(const at::Tensor& tensor) {
  const double norm =
      at::linalg_vector_norm(tensor, 2, std::nullopt, false, at::kDouble)
          .item<double>();
  return norm * norm;
}

}  // namespace

CopiedTensors::CopiedTensors(std::vector<at::Tensor> tensors,
                             const FleetCollectives& fleet)
    : tensors_(std::move(tensors)), collective_(fleet.tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors_) {
    bytes += static_cast<int64_t>(tensor.nbytes());
  }
  bytes_ = torch::empty({bytes}, torch::dtype(at::kByte).device(fleet.device));
}

at::Tensor CopiedTensors::BytesAt(int64_t offset,
                                  const at::Tensor& tensor) const {
  return bytes_.narrow(0, offset, static_cast<int64_t>(tensor.nbytes()));
}

void CopiedTensors::Launch() {
  if (bytes_.numel() == 0) return;
  if (collective_->rank() == 0) {
    const torch::NoGradGuard no_grad;
    int64_t offset = 0;
    for (const at::Tensor& tensor : tensors_) {
      at::Tensor to = BytesAt(offset, tensor);
      to.copy_(tensor.contiguous().view({-1}).view(at::kByte));
      offset += to.numel();
    }
  }
  ticket_ = collective_->Broadcast(BytesOf(bytes_), /*root=*/0);
}

absl::Status CopiedTensors::Finish(absl::Time deadline) {
  if (bytes_.numel() == 0) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(collective_->Wait(ticket_, deadline));
  if (collective_->rank() == 0) return absl::OkStatus();
  const torch::NoGradGuard no_grad;
  int64_t offset = 0;
  for (at::Tensor tensor : tensors_) {
    // Copies, to align the bytes to the tensor's type.
    const at::Tensor from = BytesAt(offset, tensor).clone();
    tensor.copy_(from.view(tensor.scalar_type()).view(tensor.sizes()));
    offset += from.numel();
  }
  return absl::OkStatus();
}

StateAverage::StateAverage(double share,
                           const std::vector<at::Tensor>& parameters,
                           const std::vector<at::Tensor>& others,
                           int64_t bucket_bytes, const FleetCollectives& fleet)
    : share_(share), collective_(fleet.tensors), device_(fleet.device) {
  MakeBuckets(parameters, /*have_drift=*/true, bucket_bytes);
  MakeBuckets(others, /*have_drift=*/false, bucket_bytes);
}

void StateAverage::MakeBuckets(const std::vector<at::Tensor>& tensors,
                               bool have_drift, int64_t bucket_bytes) {
  for (auto& members : SplitIntoBuckets(tensors, bucket_bytes)) {
    FlatTensors values(members, members.front().scalar_type(), /*extra=*/0,
                       device_);
    buckets_.push_back({.tensors = std::move(members),
                        .values = std::move(values),
                        .has_drift = have_drift});
  }
}

// Each rank weights its values, so the sum is the mean.
void StateAverage::Launch() {
  const torch::NoGradGuard no_grad;
  for (Bucket& bucket : buckets_) {
    for (size_t i = 0; i < bucket.tensors.size(); ++i) {
      at::Tensor(bucket.values[i]).copy_(bucket.tensors[i]).mul_(share_);
    }
    bucket.ticket = collective_->AllReduce(bucket.values.bytes(),
                                           bucket.values.element_type());
  }
}

absl::Status StateAverage::Finish(absl::Time deadline) {
  while (num_back_ < buckets_.size()) {
    const Bucket& bucket = buckets_[num_back_];
    GANDEM_RETURN_IF_ERROR(collective_->Wait(bucket.ticket, deadline));
    ++num_back_;
  }
  // Unpacks only after all buckets have arrived: if the fleet ends in between,
  // the state must not be a mixture of own values and means.
  for (const Bucket& bucket : buckets_) Unpack(bucket);
  if (!std::isfinite(squared_mean_)) {
    return absl::OutOfRangeError(
        "the mean of the ranks' parameters is not finite");
  }
  drift_ = squared_mean_ > 0 ? std::sqrt(squared_distance_ / squared_mean_) : 0;
  num_back_ = 0;
  squared_distance_ = squared_mean_ = 0;
  return absl::OkStatus();
}

void StateAverage::Unpack(const Bucket& bucket) {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < bucket.tensors.size(); ++i) {
    at::Tensor own = bucket.tensors[i];
    const at::Tensor mean = bucket.values[i].to(own.device());
    if (bucket.has_drift) {
      squared_distance_ += SquaredNorm(own - mean);
      squared_mean_ += SquaredNorm(mean);
    }
    own.copy_(mean);
  }
}

}  // namespace gandem
