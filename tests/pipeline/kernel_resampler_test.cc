// SPDX-License-Identifier: Apache-2.0
//
// Against Pillow's Image.resize (tests/oracles/image_goldens.py), bit for bit.
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

TEST(KernelResamplerTest, EqualsPillow) {
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

TEST(KernelResamplerTest, ConstantsStayAndEqualSizesChangeNothing) {
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

}  // namespace
}  // namespace gandem
