// SPDX-License-Identifier: Apache-2.0
#include "training/objective/diff_augment.h"

#include <algorithm>
#include <vector>

#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using torch::indexing::Slice;

enum Draw { kBrightness, kSaturation, kContrast, kRows, kColumns, kTop, kLeft };

// Returns column `draw` of `draws`, shaped to broadcast over images.
at::Tensor PerImage(const at::Tensor& draws, Draw draw,
                    const at::Tensor& like) {
  return draws.select(1, draw).to(like.options()).view({-1, 1, 1, 1});
}

// Maps a uniform number to an integer in [0, count).
int64_t ToInteger(double uniform, int64_t count) {
  return std::min(static_cast<int64_t>(uniform * static_cast<double>(count)),
                  count - 1);
}

// Maps a uniform number to an integer in [-largest, largest].
int64_t ToShift(double uniform, int64_t largest) {
  return ToInteger(uniform, 2 * largest + 1) - largest;
}

int64_t Part(int64_t side, double ratio) {
  return static_cast<int64_t>(static_cast<double>(side) * ratio + 0.5);
}

// Applies brightness in [-0.5, 0.5), saturation in [0, 2) and contrast in [0.5,
// 1.5), the paper's ranges and order.
at::Tensor Color(at::Tensor images, const at::Tensor& draws) {
  images = images + (PerImage(draws, kBrightness, images) - 0.5);
  const at::Tensor gray = images.mean(1, /*keepdim=*/true);
  images = (images - gray) * (PerImage(draws, kSaturation, images) * 2) + gray;
  const at::Tensor mean = images.mean({1, 2, 3}, /*keepdim=*/true);
  return (images - mean) * (PerImage(draws, kContrast, images) + 0.5) + mean;
}

at::Tensor Translate(const at::Tensor& images, double ratio,
                     const at::Tensor& draws) {
  const int64_t rows = Part(images.size(2), ratio);
  const int64_t columns = Part(images.size(3), ratio);
  const auto uniform = draws.accessor<double, 2>();
  std::vector<at::Tensor> shifted;
  for (int64_t i = 0; i < images.size(0); ++i) {
    const int64_t down = -ToShift(uniform[i][kRows], rows);
    const int64_t right = -ToShift(uniform[i][kColumns], columns);
    // Negative padding crops the opposite side.
    shifted.push_back(at::constant_pad_nd(images.narrow(0, i, 1),
                                          {right, -right, down, -down}, 0));
  }
  return at::cat(shifted);
}

// Sets a square, possibly cut by the edges, to 0 (gray).
at::Tensor Cutout(const at::Tensor& images, double ratio,
                  const at::Tensor& draws) {
  const int64_t height = images.size(2);
  const int64_t width = images.size(3);
  const int64_t rows = Part(height, ratio);
  const int64_t columns = Part(width, ratio);
  if (rows == 0 || columns == 0) return images;
  const auto uniform = draws.accessor<double, 2>();
  at::Tensor mask = torch::ones({images.size(0), 1, height, width});
  for (int64_t i = 0; i < images.size(0); ++i) {
    // For squares of even side, the center may lie on the far edge, so that the
    // mean position is the image's center.
    const int64_t top =
        ToInteger(uniform[i][kTop], height + 1 - rows % 2) - rows / 2;
    const int64_t left =
        ToInteger(uniform[i][kLeft], width + 1 - columns % 2) - columns / 2;
    mask.index_put_({i, 0, Slice(std::max<int64_t>(top, 0), top + rows),
                     Slice(std::max<int64_t>(left, 0), left + columns)},
                    0.0);
  }
  return images * mask.to(images.options());
}

// Maps an index of an image mirrored at its edges to [0, side).
int64_t Reflect(int64_t index, int64_t side) {
  if (index < 0) return -index;
  return index < side ? index : 2 * (side - 1) - index;
}

}  // namespace

AugmentOptions AugmentFrom(const AugmentationConfig& config) {
  AugmentOptions options = {.color = config.color(),
                            .translation = config.translation(),
                            .cutout = config.cutout()};
  if (config.has_ada()) {
    const AdaConfig& ada = config.ada();
    options.ada = {.target = ada.target(),
                   .p = ada.p(),
                   .interval = ada.interval(),
                   .images_to_full = ada.images_to_full(),
                   .adaptive = ada.adaptive()};
  }
  return options;
}

at::Tensor UniformDraws(const DrawKey& key, int64_t count, int64_t per_image) {
  const at::Tensor draws = torch::empty({count, per_image}, torch::kFloat64);
  double* out = draws.mutable_data_ptr<double>();
  for (int64_t i = 0; i < count; ++i) {
    PhiloxStream stream(key.seed, key.purpose, key.step, key.first_index + i);
    for (int64_t k = 0; k < per_image; ++k) *out++ = stream.NextUniform();
  }
  return draws;
}

at::Tensor DiffAugment(const at::Tensor& images_NCHW,
                       const AugmentOptions& options,
                       const at::Tensor& draws_N7) {
  at::Tensor images = images_NCHW;
  if (options.color) images = Color(images, draws_N7);
  if (options.translation > 0) {
    images = Translate(images, options.translation, draws_N7);
  }
  if (options.cutout > 0) images = Cutout(images, options.cutout, draws_N7);
  return images.contiguous(images_NCHW.suggest_memory_format());
}

at::Tensor DiffAugment(const at::Tensor& images_NCHW,
                       const AugmentOptions& options, const DrawKey& key) {
  if (!options.any()) return images_NCHW;
  return DiffAugment(images_NCHW, options,
                     UniformDraws(key, images_NCHW.size(0), kAugmentDraws));
}

// Gathers by index, which combines flip, shift and reflection in one pass.
at::Tensor ConsistencyCopy(const at::Tensor& images_NCHW,
                           const at::Tensor& draws_N3) {
  const torch::NoGradGuard no_grad;
  const int64_t count = images_NCHW.size(0);
  const int64_t height = images_NCHW.size(2);
  const int64_t width = images_NCHW.size(3);
  const auto uniform = draws_N3.accessor<double, 2>();
  const at::Tensor rows_NH = torch::empty({count, height}, torch::kInt64);
  const at::Tensor columns_NW = torch::empty({count, width}, torch::kInt64);
  auto rows = rows_NH.accessor<int64_t, 2>();
  auto columns = columns_NW.accessor<int64_t, 2>();
  for (int64_t i = 0; i < count; ++i) {
    const bool flip = uniform[i][0] < 0.5;
    const int64_t down = ToShift(uniform[i][1], height / 8);
    const int64_t right = ToShift(uniform[i][2], width / 8);
    for (int64_t y = 0; y < height; ++y) rows[i][y] = Reflect(y - down, height);
    for (int64_t x = 0; x < width; ++x) {
      const int64_t from = Reflect(x - right, width);
      columns[i][x] = flip ? width - 1 - from : from;
    }
  }
  const at::Device device = images_NCHW.device();
  const at::Tensor which_N = torch::arange(count, device);
  return images_NCHW.permute({0, 2, 3, 1})
      .index({which_N.view({-1, 1, 1}), rows_NH.to(device).unsqueeze(2),
              columns_NW.to(device).unsqueeze(1)})
      .permute({0, 3, 1, 2})
      .contiguous(images_NCHW.suggest_memory_format());
}

}  // namespace gandem
