// SPDX-License-Identifier: Apache-2.0
#include "pipeline/prefetcher.h"

#include <new>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/status.h"
#include "common/trace/trace.h"

namespace gandem {
namespace {

constexpr std::align_val_t kAlignment{64};

std::shared_ptr<float> AllocateAligned(int64_t num_values) {
  return {static_cast<float*>(operator new[](num_values * sizeof(float),
                                             kAlignment)),
          [](float* values) { operator delete[](values, kAlignment); }};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Prefetcher>> Prefetcher::Create(
    std::shared_ptr<const Dataset> dataset, Options options) {
  Faults faults("prefetcher");
  faults.CheckRange("first_step", options.first_step, 0, int64_t{1} << 40);
  faults.CheckRange("batch_size", options.batch_size, 1, int64_t{1} << 20);
  faults.CheckRange("depth", options.depth, 1, 1024);
  if (options.batch_size >= 1) {
    faults.CheckRange("first_image", options.first_image, 0,
                      options.batch_size - 1);
    faults.CheckRange("num_images", options.num_images, 0,
                      options.batch_size - options.first_image);
  }
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  if (options.num_images == 0) {
    options.num_images = options.batch_size - options.first_image;
  }
  std::unique_ptr<Prefetcher> prefetcher(
      new Prefetcher(std::move(dataset), options));
  prefetcher->thread_ =
      Thread("prefetch", [self = prefetcher.get()] { self->Run(); });
  return prefetcher;
}

Prefetcher::Prefetcher(std::shared_ptr<const Dataset> dataset, Options options)
    : dataset_(std::move(dataset)),
      options_(options),
      order_(options.seed, dataset_->size()),
      batches_(static_cast<size_t>(options.depth)) {}

Prefetcher::~Prefetcher() {
  Close(absl::CancelledError("the prefetcher is gone"));
}

void Prefetcher::Run() {
  for (int64_t step = options_.first_step;; ++step) {
    absl::StatusOr<RealBatch> batch = ReadBatch(step);
    if (!batch.ok()) {
      Close(Annotate(batch.status(),
                     absl::StrCat("real images of discriminator step ", step)));
      return;
    }
    // Waits as long as the trainer needs; Close() ends it.
    if (!batches_.Push(*std::move(batch), absl::InfiniteFuture()).ok()) return;
  }
}

absl::StatusOr<RealBatch> Prefetcher::ReadBatch(int64_t step) const {
  const TraceSpan span("read images", {"step", step});
  const int64_t image_values = dataset_->shape().NumValues();
  const int64_t num_values = options_.num_images * image_values;
  const std::shared_ptr<float> owner = AllocateAligned(num_values);
  const std::span<float> values(owner.get(), num_values);
  RealBatch batch = {.step = step,
                     .first_image = options_.first_image,
                     .pixels = SharedBytes(owner, std::as_bytes(values))};
  const int64_t first = step * options_.batch_size + options_.first_image;
  for (int64_t i = 0; i < options_.num_images; ++i) {
    GANDEM_ASSIGN_OR_RETURN(
        const int64_t label,
        dataset_->Read(order_.ImageOfSample(first + i),
                       values.subspan(i * image_values, image_values)));
    batch.labels.push_back(label);
  }
  return batch;
}

}  // namespace gandem
