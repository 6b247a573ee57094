// SPDX-License-Identifier: Apache-2.0
//
// The images of a source as networks see them: of one size and color. An image
// becomes gray or RGB first, is then cropped and resized, or padded, and at
// last mirrored; all but the kernel AREA works on 8-bit values.
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

// The part of an image that is used: all of it (stretched to a square), the
// largest square in its middle, or a square at a place that is drawn for each
// sample.
enum class CropPlace { kAll, kCenter, kRandom };

struct Fitting {
  int64_t size = 0;      // height and width; required
  int64_t channels = 1;  // 1: gray, by ITU-R 601-2 as in Pillow; 3: RGB
  // Centered on black, and neither cropped nor resized. An odd pixel of the
  // margin goes below and to the right.
  bool pad = false;
  CropPlace crop = CropPlace::kAll;
  // Not set: AREA of resampler.h.
  std::optional<ResizeKernel> kernel = {};
  bool flip = false;           // mirror every other sample
  int64_t max_images = 0;      // 0: all, else the first at most that many
  int64_t shuffle_window = 0;  // images; 0: of data_order.h, GLOBAL
  // Advice for messages about an image whose content cannot be read.
  std::string if_unreadable = {};
};

class FittedImages : public Dataset {
 public:
  //   INVALID_ARGUMENT  images that all have one size are too large for pad;
  //                     channels other than 1 and 3.
  static absl::StatusOr<std::unique_ptr<Dataset>> Create(
      std::shared_ptr<const ImageStore> source, Fitting fitting);

  int64_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }
  ImageUnits Units() const override;
  std::string NameOf(int64_t index) const override {
    return source_->NameOf(index);
  }

  absl::StatusOr<StoredSample> Fetch(int64_t index) const override;
  // Without `key` a random crop is the square in the middle, and nothing is
  // mirrored.
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
  // Images often have the size of those before them, and to make weights takes
  // a tenth of an image's time.
  std::shared_ptr<const KernelResampler> ResamplerFrom(
      const ImageShape& shape) const;
  // `place` as for Crop.
  absl::Status Fit(int64_t index, absl::string_view stored,
                   std::optional<double> place, std::span<float> out) const;

  // Never change after construction.
  const std::shared_ptr<const ImageStore> source_;
  const Fitting fitting_;
  const int64_t size_;
  const ImageShape shape_;

  mutable absl::Mutex mutex_;
  mutable std::shared_ptr<const KernelResampler> resampler_
      ABSL_GUARDED_BY(mutex_);  // the last one; null: none yet
};

// The first `size` images of `source`; `shuffle_window` as in ImageUnits.
ImageUnits UnitsOf(const ImageStore& source, int64_t size,
                   int64_t shuffle_window);

// Random values of a sample. Both are always drawn, so that neither option
// changes the draws of the other one.
struct SampleDraw {
  bool mirror = false;
  double place = 0;  // [0, 1)
};
SampleDraw DrawOf(const SampleKey& key);

// Swaps left and right.
void Mirror(ImageShape shape, std::span<float> values_CHW);

// Converts colors as Pillow's convert("L") and convert("RGB") do.
PixelImage WithChannels(PixelImage image, int64_t channels);

// The largest square at `place`, in [0, 1), of the way along the longer side;
// left out: in the middle.
PixelImage CropSquare(const PixelImage& image, std::optional<double> place);

}  // namespace gandem
