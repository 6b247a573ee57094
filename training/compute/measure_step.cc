// SPDX-License-Identifier: Apache-2.0
#include "training/compute/measure_step.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "exchange/schedule.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "training/compute/place_network.h"
#include "training/compute/tensor_bytes.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

// Receives reports of LibTorch's allocators while a DebugInfoGuard holds it. On
// a GPU the backward pass allocates from another thread.
class PeakMemory : public c10::MemoryReportingInfoBase {
 public:
  explicit PeakMemory(at::Device device) : device_(device) {}

  void reportMemoryUsage(void*, int64_t alloc_size, size_t, size_t,
                         at::Device device) override {
    if (device.type() != device_.type()) return;
    absl::MutexLock lock(&mu_);
    bytes_ += alloc_size;  // negative when freed
    peak_ = std::max(peak_, bytes_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t peak() const {
    absl::MutexLock lock(&mu_);
    return peak_;
  }

 private:
  const at::Device device_;
  mutable absl::Mutex mu_;
  int64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t peak_ ABSL_GUARDED_BY(mu_) = 0;
};

// Generates random numbers without LibTorch's default generator.
class Draws {
 public:
  at::Tensor Normal(at::IntArrayRef shape) {
    return torch::randn(shape, generator_);
  }

  void Fill(torch::nn::Module& network) {
    const torch::NoGradGuard no_grad;
    for (const at::Tensor& parameter : network.parameters()) {
      parameter.copy_(Normal(parameter.sizes()) * 0.02);
    }
  }

 private:
  at::Generator generator_ = at::make_generator<at::CPUGeneratorImpl>(1);
};

struct Sample {
  at::Tensor noise_NZ;  // a generator's input
  at::Tensor images_NCHW;
  Condition condition;
};

Sample MakeSample(const DataShape& data, int64_t count, int64_t noise_dim,
                  const Compute& compute, Draws& draws) {
  const ImageShape& image = data.image;
  Sample sample;
  sample.noise_NZ =
      draws.Normal({count, noise_dim}).to(compute.device, compute.dtype);
  sample.images_NCHW = InLayout(
      draws.Normal({count, image.channels, image.height, image.width}).tanh_(),
      compute);
  sample.condition.images_NCHW = sample.images_NCHW;
  if (data.num_classes > 0) {
    sample.condition.labels_N = torch::arange(count, at::kLong)
                                    .remainder_(data.num_classes)
                                    .to(compute.device);
  }
  return sample;
}

void GeneratorStep(Generator& network, const std::vector<Sample>& samples) {
  std::vector<at::Tensor> images;
  for (const Sample& sample : samples) {
    images.push_back(network.forward(sample.noise_NZ, sample.condition,
                                     ForwardMode::kTrain));
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    images[i].backward(samples[i].images_NCHW);
    images[i] = at::Tensor();
  }
}

void DiscriminatorStep(Discriminator& network,
                       const std::vector<Sample>& samples) {
  for (int kind = 0; kind < 2; ++kind) {
    for (const Sample& sample : samples) {
      const Verdict verdict = network.forward(
          sample.images_NCHW, sample.condition, ForwardMode::kTrain);
      at::Tensor loss = verdict.logits.MeanOf(
          [](const at::Tensor& output) { return output.mean(); });
      if (verdict.embeddings_NE.defined()) {
        loss = loss + verdict.embeddings_NE.mm(verdict.proxies_KE.t()).mean();
      }
      loss.backward();
    }
  }
}

absl::Duration TimeOf(absl::FunctionRef<void()> step, const Compute& compute) {
  const absl::Time begin = MonotonicNow();
  step();
  if (compute.device.is_cuda()) {
    torch::cuda::synchronize(compute.device.index());
  }
  return MonotonicNow() - begin;
}

class Probe {
 public:
  absl::Status Make(const NetworkPlan& plan, const Compute& compute,
                    int64_t batch_size) {
    Draws draws;
    int64_t noise_dim = 1;
    if (plan.role == GENERATOR) {
      GANDEM_ASSIGN_OR_RETURN(auto network,
                              MakeGenerator(plan.network, plan.data));
      draws.Fill(*network);
      generator_ =
          PlaceNetwork(std::move(network), plan.recompute_blocks, compute);
      noise_dim = generator_->noise_dim();
    } else {
      GANDEM_ASSIGN_OR_RETURN(auto network,
                              MakeDiscriminator(plan.network, plan.data));
      draws.Fill(*network);
      discriminator_ =
          PlaceNetwork(std::move(network), plan.recompute_blocks, compute);
    }
    for (const IndexRange range :
         MicroBatches({.count = batch_size}, plan.micro_batch)) {
      samples_.push_back(
          MakeSample(plan.data, range.count, noise_dim, compute, draws));
    }
    return absl::OkStatus();
  }

  void Step() {
    if (generator_) GeneratorStep(*generator_, samples_);
    if (discriminator_) DiscriminatorStep(*discriminator_, samples_);
  }

 private:
  std::shared_ptr<Generator> generator_;  // null for a discriminator
  std::shared_ptr<Discriminator> discriminator_;
  std::vector<Sample> samples_;
};

absl::Status Measure(const NetworkPlan& plan, const Compute& compute,
                     const MeasureOptions& options, StepCost& cost) {
  UseThreads(compute);
  const KernelScope kernels(compute);
  Probe probe;
  const auto memory = std::make_shared<PeakMemory>(compute.device);
  {
    const c10::DebugInfoGuard listening(c10::DebugInfoKind::PROFILER_STATE,
                                        memory);
    GANDEM_RETURN_IF_ERROR(probe.Make(
        plan, compute,
        options.batch_size == 0 ? plan.batch_size : options.batch_size));
    cost.time = TimeOf([&] { probe.Step(); }, compute);
  }
  cost.peak_bytes = memory->peak();
  if (cost.time > options.warmup_limit) return absl::OkStatus();
  // The warm-up step also prepared kernels and buffers.
  cost.time = absl::InfiniteDuration();
  for (int i = 0; i < options.steps; ++i) {
    cost.time = std::min(cost.time, TimeOf([&] { probe.Step(); }, compute));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StepCost> MeasureStep(const NetworkPlan& plan,
                                     const Compute& compute,
                                     const MeasureOptions& options) {
  StepCost cost;
  GANDEM_RETURN_IF_ERROR(
      CatchTorch([&] { return Measure(plan, compute, options, cost); }));
  return cost;
}

}  // namespace gandem
