// SPDX-License-Identifier: Apache-2.0
//
// Images of a source as networks see them, all of one size and color. An image
// is first converted to gray or RGB, then cropped and resized (or padded), then
// mirrored. All kernels except AREA work on 8-bit values.
//
// Owner, thread safety: see dataset.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "pipeline/dataset.h"
#include "pipeline/image_store.h"
#include "pipeline/kernel_resampler.h"
#include "pipeline/resampler.h"

namespace gandem {

// Part of an image to use: all of it (stretched to a square), the central
// square, or a square at a position drawn for each sample.
enum class CropPlace { kAll, kCenter, kRandom };

struct Fitting {
  int64_t size = 0;      // height and width; required
  int64_t channels = 1;  // 1: gray, by ITU-R 601-2 as in Pillow; 3: RGB
  // Centers the image on black without cropping or resizing. An odd margin is
  // larger below and to the right.
  bool pad = false;
  CropPlace crop = CropPlace::kAll;
  // Not set: AREA (resampler.h).
  std::optional<ResizeKernel> kernel = {};
  bool flip = false;           // mirror half of the samples
  int64_t max_images = 0;      // limit on the number of images; 0: all
  int64_t shuffle_window = 0;  // images; 0: order GLOBAL (data_order.h)
  // Advice for messages about unreadable images.
  std::string if_unreadable = {};
};

class FittedImages : public Dataset {
 public:
  //   INVALID_ARGUMENT  images are too large for `pad`, or channels is neither
  //                     1 nor 3.
  static absl::StatusOr<std::unique_ptr<Dataset>> Create(
      std::shared_ptr<const ImageStore> source, Fitting fitting);

  int64_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }
  ImageUnits Units() const override;
  std::string NameOf(int64_t index) const override {
    return source_->NameOf(index);
  }

  absl::StatusOr<StoredSample> Fetch(int64_t index) const override;
  // Without `key` crops are central and nothing is mirrored.
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& stored,
                                 std::optional<SampleKey> key,
                                 std::span<float> out) const override;
  absl::StatusOr<std::string> ContentHash() const override {
    return source_->ContentHash();
  }

 private:
  FittedImages(std::shared_ptr<const ImageStore> source, Fitting fitting);

  absl::Status Pad(const PixelImage& image, std::span<float> out) const;
  void Resize(const PixelImage& image, std::span<float> out) const;
  // Caches the last resampler: consecutive images often have one size, and
  // computing the weights takes a tenth of an image's time.
  std::shared_ptr<const KernelResampler> ResamplerFrom(
      const ImageShape& shape) const;
  absl::Status Fit(int64_t index, absl::string_view stored,
                   std::optional<double> place, std::span<float> out) const;

  // Never change after construction.
  const std::shared_ptr<const ImageStore> source_;
  const Fitting fitting_;
  const int64_t size_;
  const ImageShape shape_;

  mutable absl::Mutex mutex_;
  mutable std::shared_ptr<const KernelResampler> resampler_
      ABSL_GUARDED_BY(mutex_);  // the most recent one; null: none yet
};

// Lists the units of the first `size` images of `source`.
ImageUnits UnitsOf(const ImageStore& source, int64_t size,
                   int64_t shuffle_window);

// Random values of a sample. Both are always drawn, so that one option does not
// change the draws of the other.
struct SampleDraw {
  bool mirror = false;
  double place = 0;  // [0, 1)
};
SampleDraw DrawOf(const SampleKey& key);

void Mirror(ImageShape shape, std::span<float> values_CHW);

// Converts colors as Pillow's convert("L") and convert("RGB") do.
PixelImage WithChannels(PixelImage image, int64_t channels);

// Crops the largest square, at `place` in [0, 1); nullopt: at the center.
PixelImage CropSquare(const PixelImage& image, std::optional<double> place);

}  // namespace gandem
