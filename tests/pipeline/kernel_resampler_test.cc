// SPDX-License-Identifier: Apache-2.0
//
// Equality with Pillow's Image.resize (tests/oracles/image_goldens.py).
#include "pipeline/kernel_resampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/image_files.h"

namespace gandem {
namespace {

using ::gandem::testing::GoldenImage;
using ::gandem::testing::ImageGoldens;
using ::gandem::testing::NoiseImage;
using ::testing::Each;

const std::pair<const char*, ResizeKernel> kKernels[] = {
    {"box", ResizeKernel::kBox},
    {"bilinear", ResizeKernel::kBilinear},
    {"bicubic", ResizeKernel::kBicubic},
    {"lanczos", ResizeKernel::kLanczos}};

TEST(KernelResamplerTest, ResizedImagesEqualPillows) {
  const auto goldens = ImageGoldens();
  for (const char* const name : {"down", "up", "gray", "mixed"}) {
    const PixelImage from =
        GoldenImage(goldens.at(absl::StrCat("from.", name)));
    for (const auto& [kernel_name, kernel] : kKernels) {
      const PixelImage to =
          GoldenImage(goldens.at(absl::StrCat("to.", kernel_name, ".", name)));
      const KernelResampler resampler(kernel, from.height, from.width,
                                      to.height, to.width);
      EXPECT_TRUE(resampler.Apply(from) == to) << kernel_name << " " << name;
    }
  }
}

TEST(KernelResamplerTest, ConstantImagesStayConstantAndEqualSizesAreCopied) {
  for (const auto& [name, kernel] : kKernels) {
    PixelImage white = {.channels = 3, .height = 11, .width = 5};
    white.pixels.assign(3 * 11 * 5, 255);
    EXPECT_THAT(KernelResampler(kernel, 11, 5, 7, 23).Apply(white).pixels,
                Each(255))
        << name;
    const PixelImage noise = NoiseImage(3, 4, 6, 1);
    EXPECT_EQ(KernelResampler(kernel, 4, 6, 4, 6).Apply(noise), noise);
  }
}

PixelImage Part(const PixelImage& image, int64_t top, int64_t height,
                int64_t left, int64_t width) {
  PixelImage part = {
      .channels = image.channels, .height = height, .width = width};
  for (int64_t y = top; y < top + height; ++y) {
    const auto row =
        image.pixels.begin() + (y * image.width + left) * image.channels;
    part.pixels.insert(part.pixels.end(), row, row + width * image.channels);
  }
  return part;
}

// The strips are narrower than the blocks of bytes that are summed at once,
// like the images compared with Pillow's above.
TEST(KernelResamplerTest, LargeImagesAreResizedLikeTheirStrips) {
  const PixelImage image = NoiseImage(3, 150, 139, 2);
  for (const auto& [name, kernel] : kKernels) {
    const PixelImage lower =
        KernelResampler(kernel, 150, 139, 71, 139).Apply(image);
    for (int64_t left = 0; left < 139; ++left) {
      EXPECT_EQ(KernelResampler(kernel, 150, 1, 71, 1)
                    .Apply(Part(image, 0, 150, left, 1)),
                Part(lower, 0, 71, left, 1))
          << name << " column " << left;
    }
    const PixelImage narrower =
        KernelResampler(kernel, 150, 139, 150, 67).Apply(image);
    for (int64_t top = 0; top < 150; top += 10) {
      EXPECT_EQ(KernelResampler(kernel, 10, 139, 10, 67)
                    .Apply(Part(image, top, 10, 0, 139)),
                Part(narrower, top, 10, 0, 67))
          << name << " rows from " << top;
    }
  }
}

}  // namespace
}  // namespace gandem
