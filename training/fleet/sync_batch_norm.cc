// SPDX-License-Identifier: Apache-2.0
#include "training/fleet/sync_batch_norm.h"

#include <torch/csrc/autograd/functions/utils.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/monotonic_time.h"
#include "models/torch.h"
#include "training/fleet/flat_tensors.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

using torch::autograd::variable_list;

// Duration of one wait (chosen); closing the collective ends the waits.
constexpr absl::Duration kPoll = absl::Seconds(1);

// Waits until the operation is complete or the collective is closed. There is
// no deadline, since a pass cannot be interrupted and resumed.
void WaitUntilDone(Collective& collective, Collective::Ticket ticket) {
  absl::Status done;
  do {
    done = collective.Wait(ticket, MonotonicNow() + kPoll);
  } while (absl::IsDeadlineExceeded(done));
  if (!done.ok()) throw StatusError(std::move(done));
}

at::Tensor SumOverFleet(const at::Tensor& values, Collective* collective);

// The gradient of a sum over ranks is the sum of the ranks' gradients, so the
// backward pass creates another SumNode.
class SumNode : public torch::autograd::Node {
 public:
  SumNode(const at::Tensor& values, Collective* collective)
      : sizes_(values.sizes().vec()),
        options_(values.options()),
        collective_(collective) {
    set_next_edges(torch::autograd::collect_next_edges(values));
  }

  std::string name() const override { return "gandem::SumNode"; }

  variable_list apply(variable_list&& gradients) override {
    // All ranks must take part, even without a gradient.
    return {SumOverFleet(
        gradients[0].defined() ? gradients[0] : at::zeros(sizes_, options_),
        collective_)};
  }

 private:
  const std::vector<int64_t> sizes_;
  const at::TensorOptions options_;
  Collective* const collective_;
};

// Returns the sum of all ranks' values.
at::Tensor SumOverFleet(const at::Tensor& values, Collective* collective) {
  at::Tensor sum;
  {
    const torch::NoGradGuard no_graph;
    const FlatTensors flat({values}, values.scalar_type(), /*extra=*/0,
                           at::kCPU);
    at::Tensor(flat[0]).copy_(values);
    WaitUntilDone(*collective,
                  collective->AllReduce(flat.bytes(), flat.element_type()));
    // Copy, since a tensor with a history must not be a view.
    sum = flat[0].to(values.device(), values.scalar_type(),
                     /*non_blocking=*/false, /*copy=*/true);
  }
  if (torch::GradMode::is_enabled() && values.requires_grad()) {
    torch::autograd::set_history(sum,
                                 std::make_shared<SumNode>(values, collective));
  }
  return sum;
}

class CollectiveGather : public FleetGather {
 public:
  explicit CollectiveGather(Collective* collective) : collective_(collective) {}

  // Pads this rank's row with zero rows; the sum is the table of all rows.
  at::Tensor Gather(const at::Tensor& values_K) override {
    const int64_t rank = collective_->rank();
    const int64_t above = collective_->size() - 1 - rank;
    return SumOverFleet(
        at::constant_pad_nd(values_K.unsqueeze(0), {0, 0, rank, above}),
        collective_);
  }

 private:
  Collective* const collective_;
};

}  // namespace

std::shared_ptr<FleetGather> GatherOver(Collective* collective) {
  return std::make_shared<CollectiveGather>(collective);
}

}  // namespace gandem
