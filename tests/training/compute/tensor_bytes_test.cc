// SPDX-License-Identifier: Apache-2.0
#include "training/compute/tensor_bytes.h"

#include <gtest/gtest.h>

#include "models/torch.h"

namespace gandem {
namespace {

at::Tensor SomeImages(int64_t channels) {
  return torch::arange(5 * channels * 3 * 4)
      .reshape({5, channels, 3, 4})
      .to(at::kFloat)
      .sin();
}

TensorFormat FormatOf(int64_t channels, Encoding encoding, Layout layout) {
  return {.encoding = encoding,
          .layout = layout,
          .channels = channels,
          .height = 3,
          .width = 4};
}

// With one channel, strides are ambiguous.
TEST(TensorBytesTest, Float32IsExactInBothLayouts) {
  for (const int64_t channels : {1, 3}) {
    const at::Tensor images_NCHW = SomeImages(channels);
    for (const Layout wire : {Layout::kNchw, Layout::kChannelsLast}) {
      for (const Layout layout : {Layout::kNchw, Layout::kChannelsLast}) {
        const TensorFormat format =
            FormatOf(channels, Encoding::kFloat32, wire);
        const SharedBytes bytes = PackImages(images_NCHW, format);
        ASSERT_EQ(bytes.size(), 5 * format.BytesPerImage());
        const Compute compute{.layout = layout};
        const at::Tensor back = UnpackImages(bytes, 5, format, compute);
        EXPECT_TRUE(back.equal(images_NCHW));
        EXPECT_EQ(back.strides(), InLayout(images_NCHW, compute).strides());
      }
    }
  }
}

TEST(TensorBytesTest, ChannelsLastTensorsHaveChannelsLastBytes) {
  const at::Tensor images_NCHW = SomeImages(3);
  const SharedBytes bytes = PackImages(
      images_NCHW, FormatOf(3, Encoding::kFloat32, Layout::kChannelsLast));
  const float* const values = reinterpret_cast<const float*>(bytes.data());
  EXPECT_EQ(values[1], images_NCHW[0][1][0][0].item<float>());
}

TEST(TensorBytesTest, PiecesAreJoinedInOrder) {
  const at::Tensor images_NCHW = SomeImages(1);
  const TensorFormat format = FormatOf(1, Encoding::kFloat32, Layout::kNchw);
  const SharedBytes bytes = PackImages(images_NCHW, format);
  const auto piece = [&](int64_t first, int64_t count) {
    return ImageBatch{.first_index = first,
                      .count = count,
                      .format = format,
                      .pixels = bytes.Slice(first * format.BytesPerImage(),
                                            count * format.BytesPerImage())};
  };
  EXPECT_TRUE(UnpackImages({piece(0, 2), piece(2, 3)}, {}).equal(images_NCHW));
}

TEST(TensorBytesTest, SmallEncodingsRoundAsDocumented) {
  const at::Tensor images_NCHW = SomeImages(3);
  const auto error = [&](Encoding encoding) {
    const TensorFormat format = FormatOf(3, encoding, Layout::kNchw);
    return (UnpackImages(PackImages(images_NCHW, format), 5, format, {}) -
            images_NCHW)
        .abs()
        .max()
        .item<double>();
  };
  EXPECT_LE(error(Encoding::kUint8), 0.5 / 127.5 + 1e-6);
  EXPECT_GT(error(Encoding::kUint8), 0);
  EXPECT_LE(error(Encoding::kBfloat16), 1.0 / 256);
  EXPECT_GT(error(Encoding::kBfloat16), 0);
}

TEST(TensorBytesTest, Float64IsExact) {
  const at::Tensor images_NCHW = SomeImages(1).to(at::kDouble) / 3;
  const TensorFormat format = FormatOf(1, Encoding::kFloat64, Layout::kNchw);
  EXPECT_TRUE(UnpackImages(PackImages(images_NCHW, format), 5, format,
                           {.dtype = at::kDouble})
                  .equal(images_NCHW));
}

TEST(TensorBytesTest, InLayoutReturnsNewMemory) {
  const at::Tensor images_NCHW = SomeImages(1);
  EXPECT_NE(InLayout(images_NCHW, {}).data_ptr(), images_NCHW.data_ptr());
}

}  // namespace
}  // namespace gandem
