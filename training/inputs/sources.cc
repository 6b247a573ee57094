// SPDX-License-Identifier: Apache-2.0
#include "training/inputs/sources.h"

#include "models/torch.h"

namespace gandem {

NoiseSource KeyedNoise(uint64_t seed, int64_t noise_dim,
                       const Compute& compute) {
  return [=](Purpose purpose, int64_t step, IndexRange range) {
    const at::Tensor noise_NZ = torch::empty({range.count, noise_dim});
    float* row = noise_NZ.mutable_data_ptr<float>();
    for (int64_t i = range.first; i < range.end(); ++i, row += noise_dim) {
      PhiloxStream(seed, purpose, step, i)
          .FillNormal({row, static_cast<size_t>(noise_dim)});
    }
    return ToDevice(noise_NZ.to(compute.dtype), compute.device);
  };
}

}  // namespace gandem
