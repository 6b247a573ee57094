// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/real_images.h"

#include <torch/torch.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/data_shape.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "exchange/schedule.h"
#include "pipeline/prefetcher.h"
#include "training/compute/tensor_bytes.h"
#include "training/inputs/pairs.h"

namespace gandem {

absl::StatusOr<RealImageSource> ReadRealImages(
    const RunConfig& config, std::shared_ptr<const Dataset> dataset,
    int64_t batch_size, int64_t first_step, int rank, const Compute& compute) {
  const IndexRange slice =
      RankSlice(batch_size, rank, config.discriminator().workers());
  GANDEM_ASSIGN_OR_RETURN(
      std::shared_ptr<Prefetcher> prefetcher,
      Prefetcher::Create(dataset, {.seed = config.seed(),
                                   .first_step = first_step,
                                   .batch_size = batch_size,
                                   .first_image = slice.first,
                                   .num_images = slice.count,
                                   .depth = config.data().prefetch_batches()}));
  const ImageShape shape = dataset->shape();
  const bool has_classes = config.data().num_classes() > 0;
  const bool has_pairs = HasPairs(config);
  const int64_t channels = DataShapeOf(config.data()).image.channels;
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
        RealImages real = {.images_NCHW = UnpackImages(
                               batch.pixels, slice.count, format, compute)};
        if (has_pairs) return SplitPairs(real.images_NCHW, channels, compute);
        if (has_classes) {
          real.condition.labels_N =
              torch::tensor(batch.labels, at::kLong).to(compute.device);
        }
        return real;
      });
}

}  // namespace gandem
