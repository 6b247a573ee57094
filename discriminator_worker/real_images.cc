// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/real_images.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/prefetcher.h"
#include "training/compute/tensor_bytes.h"
#include "training/inputs/pairs.h"

namespace gandem {

absl::StatusOr<RealImageSource> ReadRealImages(
    const DataPlan& plan, std::shared_ptr<const Dataset> dataset,
    const RealSteps& steps, const Compute& compute) {
  GANDEM_ASSIGN_OR_RETURN(
      std::shared_ptr<Prefetcher> prefetcher,
      Prefetcher::Create(dataset, {.seed = plan.seed,
                                   .first_step = steps.first,
                                   .batch_size = steps.batch_size,
                                   .first_image = steps.slice.first,
                                   .num_images = steps.slice.count,
                                   .depth = plan.files.prefetch_batches()}));
  const int64_t count = steps.slice.count;
  const ImageShape shape = dataset->shape();
  const bool has_classes = plan.shape.num_classes > 0;
  const bool has_pairs = plan.has_pairs();
  const int64_t channels = plan.shape.image.channels;
  return RealImageSource(
      [=](int64_t step, absl::Time deadline) -> absl::StatusOr<RealImages> {
        GANDEM_ASSIGN_OR_RETURN(const RealBatch batch,
                                prefetcher->Next(deadline));
        if (batch.step != step) {
          return absl::InternalError(absl::StrCat(
              "real images of step ", batch.step, ", wanted ", step));
        }
        const TensorFormat format{.channels = shape.channels,
                                  .height = shape.height,
                                  .width = shape.width};
        RealImages real = {
            .images_NCHW = UnpackImages(batch.pixels, count, format, compute)};
        if (has_pairs) return SplitPairs(real.images_NCHW, channels, compute);
        if (has_classes) {
          real.condition.labels_N =
              torch::tensor(batch.labels, at::kLong).to(compute.device);
        }
        return real;
      });
}

}  // namespace gandem
