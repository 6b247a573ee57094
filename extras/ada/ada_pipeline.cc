// SPDX-License-Identifier: Apache-2.0
#include "extras/ada/ada_pipeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "models/torch.h"

namespace gandem {
namespace {

using std::numbers::pi;

// Ranges and standard deviations (for factors: of their log2) from table 3 and
// appendix B of the paper.
constexpr double kLargestShift = 0.125;  // fraction of the side
constexpr double kScaleDeviation = 0.2;
constexpr double kStretchDeviation = 0.2;
constexpr double kShiftDeviation = 0.125;  // fraction of the side
constexpr double kBrightnessDeviation = 0.2;
constexpr double kContrastDeviation = 0.5;
constexpr double kSaturationDeviation = 1;

// Low-pass filter of the symlet with 6 vanishing moments (Daubechies 1992). Its
// squares sum to 1.
constexpr int64_t kTaps = 12;
constexpr std::array<double, kTaps> kSymlet = {
    0.015404109327027373, 0.0034907120842174702, -0.11799011114819057,
    -0.048311742585633,   0.4910559419267466,    0.787641141030194,
    0.3379294217276218,   -0.07263752278646252,  -0.021060292512300564,
    0.04472490177066578,  0.0017677118642428036, -0.007800708325034148};
// Reach, in pixels of the original image, of a filter on the doubled image.
constexpr int64_t kReach = kTaps / 4;

// One image's row of draws. Every augmentation takes its numbers even if it is
// not applied, so that the positions of the other numbers do not change.
class Draws {
 public:
  explicit Draws(const double* next) : next_(next) {}

  double Uniform() { return *next_++; }
  // Uniform in [-1, 1).
  double Symmetric() { return Uniform() * 2 - 1; }
  bool Hits(double probability) { return Uniform() < probability; }
  // Two standard normal numbers (Box-Muller).
  std::array<double, 2> Normals() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    const double angle = 2 * pi * Uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }
  double Factor(double deviation) {
    return std::exp2(Normals()[0] * deviation);
  }

 private:
  const double* next_;
};

// --- Blitting and geometry ---

// Affine map: x becomes xx * x + xy * y + x0, and y likewise. The origin is the
// middle of the image.
struct Plane {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;

  bool operator==(const Plane&) const = default;
};

// The composition that applies `second` first, then `first`.
Plane operator*(const Plane& first, const Plane& second) {
  return {.xx = first.xx * second.xx + first.xy * second.yx,
          .xy = first.xx * second.xy + first.xy * second.yy,
          .x0 = first.xx * second.x0 + first.xy * second.y0 + first.x0,
          .yx = first.yx * second.xx + first.yy * second.yx,
          .yy = first.yx * second.xy + first.yy * second.yy,
          .y0 = first.yx * second.x0 + first.yy * second.y0 + first.y0};
}

Plane Scaling(double x, double y) { return {.xx = x, .yy = y}; }
Plane Shift(double x, double y) { return {.x0 = x, .y0 = y}; }
Plane Rotation(double angle) {
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  return {.xx = cosine, .xy = -sine, .yx = sine, .yy = cosine};
}
// Exact, unlike Rotation(): cos(pi / 2) is not 0 in floating point.
Plane QuarterTurns(int64_t turns) {
  constexpr std::array<double, 4> kCosines = {1, 0, -1, 0};
  const double cosine = kCosines[turns % 4];
  const double sine = kCosines[(turns + 3) % 4];
  return {.xx = cosine, .xy = -sine, .yx = sine, .yy = cosine};
}

// Maps a pixel of the augmented image to its source. It is the product of the
// inverse transforms; the last factor applies first to a pixel of the augmented
// image.
Plane DrawPlane(Draws& draws, double p, double width, double height) {
  Plane source;
  const auto apply = [&](double probability, const Plane& inverse) {
    if (draws.Hits(probability)) source = source * inverse;
  };
  apply(p, Scaling(draws.Uniform() < 0.5 ? 1 : -1, 1));
  apply(p, QuarterTurns(static_cast<int64_t>(draws.Uniform() * 4)));
  const double columns =
      std::nearbyint(draws.Symmetric() * kLargestShift * width);
  const double rows =
      std::nearbyint(draws.Symmetric() * kLargestShift * height);
  apply(p, Shift(-columns, -rows));
  const double scale = draws.Factor(kScaleDeviation);
  apply(p, Scaling(1 / scale, 1 / scale));
  // At least one of the two rotations happens with probability p.
  const double turns = 1 - std::sqrt(1 - p);
  apply(turns, Rotation(draws.Symmetric() * pi));
  const double stretch = draws.Factor(kStretchDeviation);
  apply(p, Scaling(1 / stretch, stretch));
  apply(turns, Rotation(draws.Symmetric() * pi));
  const std::array<double, 2> shift = draws.Normals();
  apply(p, Shift(-shift[0] * kShiftDeviation * width,
                 -shift[1] * kShiftDeviation * height));
  return source;
}

// Pixels needed beyond each edge.
struct Margin {
  int64_t left = 0, right = 0, top = 0, bottom = 0;
};

// A reflection is at most one pixel smaller than the image.
int64_t MarginOf(double farthest, int64_t side) {
  const double beyond = farthest - static_cast<double>(side - 1) / 2;
  return static_cast<int64_t>(std::ceil(
      std::clamp(beyond + 2 * kReach, 0.0, static_cast<double>(side - 1))));
}

Margin MarginAround(const Plane& source, int64_t width, int64_t height) {
  const double x = static_cast<double>(width - 1) / 2;
  const double y = static_cast<double>(height - 1) / 2;
  // The corners are symmetric around the middle, which maps to (x0, y0).
  const double far_x = std::abs(source.xx) * x + std::abs(source.xy) * y;
  const double far_y = std::abs(source.yx) * x + std::abs(source.yy) * y;
  return {.left = MarginOf(far_x - source.x0, width),
          .right = MarginOf(far_x + source.x0, width),
          .top = MarginOf(far_y - source.y0, height),
          .bottom = MarginOf(far_y + source.y0, height)};
}

// Shape [1, 1, taps, 1]; the taps sum to 1.
at::Tensor Filter(const at::Tensor& like) {
  const at::Tensor taps = torch::tensor(
      std::vector<double>(kSymlet.begin(), kSymlet.end()), torch::kFloat64);
  return (taps / taps.sum()).to(like.options()).view({1, 1, kTaps, 1});
}

// Doubles height and width. `image_C1HW` has the channels as its batch.
at::Tensor Doubled(const at::Tensor& image_C1HW, const at::Tensor& filter) {
  const at::Tensor tall = at::conv_transpose2d(image_C1HW, filter * 2, {},
                                               {2, 1}, {kTaps / 2 - 1, 0});
  return at::conv_transpose2d(tall, filter.transpose(2, 3) * 2, {}, {1, 2},
                              {0, kTaps / 2 - 1});
}

// Halves height and width, and loses kReach pixels at each edge.
at::Tensor Halved(const at::Tensor& image_C1HW, const at::Tensor& filter) {
  const at::Tensor used = image_C1HW.narrow(2, 1, image_C1HW.size(2) - 2)
                              .narrow(3, 1, image_C1HW.size(3) - 2);
  return at::conv2d(at::conv2d(used, filter, {}, {2, 1}),
                    filter.transpose(2, 3), {}, {1, 2});
}

// Samples `image_C1HW` at the positions that `source` maps pixels to.
at::Tensor Moved(const at::Tensor& image_C1HW, const Plane& source) {
  const int64_t height = image_C1HW.size(2);
  const int64_t width = image_C1HW.size(3);
  const at::Tensor filter = Filter(image_C1HW);
  const Margin margin = MarginAround(source, width, height);
  const at::Tensor large = Doubled(
      at::reflection_pad2d(
          image_C1HW, {margin.left, margin.right, margin.top, margin.bottom}),
      filter);
  const double out_height = static_cast<double>(2 * (height + 2 * kReach));
  const double out_width = static_cast<double>(2 * (width + 2 * kReach));
  // Pixels of the doubled image are half as far apart. The doubled image begins
  // half a doubled pixel before the middle of the first pixel.
  const Plane doubled =
      Shift(-0.5, -0.5) * Scaling(2, 2) *
      Shift(static_cast<double>(margin.left - margin.right) / 2,
            static_cast<double>(margin.top - margin.bottom) / 2) *
      source * Scaling(0.5, 0.5) * Shift(0.5, 0.5);
  // Torch's grid coordinates span -1 to 1 over an image.
  const Plane torchs = Scaling(2 / static_cast<double>(large.size(3)),
                               2 / static_cast<double>(large.size(2))) *
                       doubled * Scaling(out_width / 2, out_height / 2);
  const at::Tensor theta = torch::tensor({torchs.xx, torchs.xy, torchs.x0,
                                          torchs.yx, torchs.yy, torchs.y0},
                                         torch::kFloat64)
                               .view({1, 2, 3});
  const at::Tensor grid =
      at::affine_grid_generator(theta,
                                {1, 1, static_cast<int64_t>(out_height),
                                 static_cast<int64_t>(out_width)},
                                /*align_corners=*/false)
          .to(image_C1HW.options());
  const at::Tensor read =
      at::grid_sampler_2d(large.transpose(0, 1), grid, /*interpolation_mode=*/0,
                          /*padding_mode=*/0, /*align_corners=*/false);
  return Halved(read.transpose(0, 1), filter);
}

// --- Color ---

// Affine map of colors in [-1, 1]^3: three factors and an offset per row.
using Recoloring = std::array<std::array<double, 4>, 3>;

constexpr Recoloring kSameColors = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};

// Weighs each color by `same`, the next one by `next` and the previous one by
// `last`. All rotations and reflections that keep gray have this form.
Recoloring Mixed(double same, double next, double last,
                 const Recoloring& before) {
  Recoloring mixed = {};
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 4; ++k) {
      mixed[i][k] = same * before[i][k] + next * before[(i + 1) % 3][k] +
                    last * before[(i + 2) % 3][k];
    }
  }
  return mixed;
}

Recoloring DrawColors(Draws& draws, double p, bool is_gray) {
  Recoloring colors = kSameColors;
  const double brightness = draws.Normals()[0] * kBrightnessDeviation;
  if (draws.Hits(p)) {
    for (auto& row : colors) row[3] += brightness;
  }
  const double contrast = draws.Factor(kContrastDeviation);
  if (draws.Hits(p)) colors = Mixed(contrast, 0, 0, colors);
  const bool flips = draws.Uniform() >= 0.5;
  // A luma flip mirrors colors at the plane of zero luma.
  if (draws.Hits(p) && flips) {
    colors = Mixed(1.0 / 3, -2.0 / 3, -2.0 / 3, colors);
  }
  const double hue = draws.Symmetric() * pi;
  if (draws.Hits(p) && !is_gray) {  // rotation around the gray axis
    const double third = (1 - std::cos(hue)) / 3;
    const double sine = std::sin(hue) / std::numbers::sqrt3;
    colors = Mixed(third + std::cos(hue), third - sine, third + sine, colors);
  }
  const double saturation = draws.Factor(kSaturationDeviation);
  if (draws.Hits(p) && !is_gray) {
    const double third = (1 - saturation) / 3;
    colors = Mixed(third + saturation, third, third, colors);
  }
  return colors;
}

// Factor and offset for luma: it stands for three equal colors, and the result
// is the mean of the mapped colors.
std::array<double, 2> OfLuma(const Recoloring& colors) {
  std::array<double, 2> luma = {};
  for (const auto& row : colors) {
    luma[0] += (row[0] + row[1] + row[2]) / 3;
    luma[1] += row[3] / 3;
  }
  return luma;
}

at::Tensor Recolored(const at::Tensor& images_NCHW,
                     const std::vector<Recoloring>& colors) {
  const int64_t channels = images_NCHW.size(1);
  std::vector<double> values;
  for (const Recoloring& one : colors) {
    if (channels == 1) {
      for (const double value : OfLuma(one)) values.push_back(value);
    } else {
      for (const auto& row : one) {
        values.insert(values.end(), row.begin(), row.end());
      }
    }
  }
  const at::Tensor all = torch::tensor(values, torch::kFloat64)
                             .view({-1, channels, channels + 1, 1, 1})
                             .to(images_NCHW.options());
  at::Tensor sum = all.select(2, channels);
  for (int64_t k = 0; k < channels; ++k) {
    sum = sum + all.select(2, k) * images_NCHW.narrow(1, k, 1);
  }
  return sum;
}

}  // namespace

at::Tensor AdaAugment(const at::Tensor& images_NCHW, double p,
                      const at::Tensor& draws_NK) {
  const int64_t channels = images_NCHW.size(1);
  TORCH_CHECK_VALUE(channels == 1 || channels == 3,
                    "augmentation.ada is for images of 1 or 3 channels, not ",
                    channels);
  const at::Tensor draws = draws_NK.contiguous();
  std::vector<at::Tensor> moved;
  std::vector<Recoloring> colors;
  for (int64_t i = 0; i < images_NCHW.size(0); ++i) {
    Draws of_image(draws.const_data_ptr<double>() + i * draws.size(1));
    const Plane source =
        DrawPlane(of_image, p, static_cast<double>(images_NCHW.size(3)),
                  static_cast<double>(images_NCHW.size(2)));
    const at::Tensor image_C1HW = images_NCHW.narrow(0, i, 1).transpose(0, 1);
    moved.push_back(source == Plane() ? image_C1HW : Moved(image_C1HW, source));
    colors.push_back(DrawColors(of_image, p, channels == 1));
  }
  const bool recolors = std::ranges::any_of(
      colors, [](const auto& one) { return one != kSameColors; });
  at::Tensor images = at::cat(moved, 1).transpose(0, 1);
  if (recolors) images = Recolored(images, colors);
  return images.contiguous(images_NCHW.suggest_memory_format());
}

}  // namespace gandem
