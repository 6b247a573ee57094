// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a source as networks see them: the stored values times a scale,
// optionally mirrored. A waveform (height 1) of size * size values is arranged
// as a square of rows; mirroring reverses the whole waveform.
//
// Owner, thread safety: see dataset.h.
// Errors of Read: those of the source, and
//   DATA_LOSS  a value is not finite.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/dataset.h"
#include "pipeline/fitted_images.h"
#include "pipeline/image_store.h"

namespace gandem {

// Reads values of `dtype` (kF16 or kF32), multiplied by `scale`. Returns the
// largest unscaled magnitude; infinity or NaN if a value is not finite.
float ReadTensor(absl::string_view stored, DType dtype, float scale,
                 std::span<float> out);

class TensorSamples : public Dataset {
 public:
  // Uses only size, channels, flip, max_images, shuffle_window and
  // if_unreadable of `fitting`. `source` has tensors().
  //   INVALID_ARGUMENT  the tensors are neither channels x size x size nor
  //                     waveforms of as many values.
  static absl::StatusOr<std::unique_ptr<Dataset>> Create(
      std::shared_ptr<const ImageStore> source, Fitting fitting, double scale);

  int64_t size() const override { return size_; }
  ImageShape shape() const override {
    return {.channels = format_.shape.channels,
            .height = fitting_.size,
            .width = fitting_.size};
  }
  ImageUnits Units() const override;

  absl::StatusOr<StoredSample> Fetch(int64_t index) const override;
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& stored,
                                 std::optional<SampleKey> key,
                                 std::span<float> out) const override;
  absl::StatusOr<std::string> ContentHash() const override {
    return source_->ContentHash();
  }

 private:
  TensorSamples(std::shared_ptr<const ImageStore> source, Fitting fitting,
                double scale);

  // Never change after construction.
  const std::shared_ptr<const ImageStore> source_;
  const Fitting fitting_;
  const StoredFormat format_;
  const float scale_;
  const int64_t size_;
};

}  // namespace gandem
