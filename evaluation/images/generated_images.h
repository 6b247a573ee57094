// SPDX-License-Identifier: Apache-2.0
//
// Images of the averaged generator of a checkpoint. Image i is made of the
// noise stream (seed, kSample, 0, i) and of its label or the input that it
// translates (sample_condition.h), as in the grids of `gandem sample`.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "evaluation/images/image_set.h"
#include "evaluation/images/load_generator.h"
#include "evaluation/images/sample_noise.h"
#include "evaluation/images/standing_statistics.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// How images of `spec` are made.
void SetSampling(const NoiseOptions& noise, const StandingOptions& standing,
                 ImagesSpec::Generated& spec);

class GeneratedImages : public ImageSet {
 public:
  // Errors of LoadCheckpoint (load_generator.h), and
  //   INVALID_ARGUMENT  the truncation is negative, so small that noise is not
  //                     found in reasonable time, or not a number; another
  //                     option is out of range; there is no such device or
  //                     class; standing statistics without batch norm.
  static absl::StatusOr<std::unique_ptr<ImageSet>> Open(
      const ImagesSpec::Generated& spec);

  int64_t size() const override {
    return generator_.pairs ? generator_.pairs->size()
                            : std::numeric_limits<int64_t>::max();
  }
  ImageShape shape() const override { return shape_; }
  int64_t num_classes() const override {
    return generator_.plan.data.shape.num_classes;
  }
  absl::StatusOr<at::Tensor> ReadLabels(IndexRange range) override;
  absl::StatusOr<ImagesCard> Describe() const override;

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override;

 private:
  GeneratedImages(const ImagesSpec::Generated& spec, LoadedGenerator generator)
      : spec_(spec), generator_(std::move(generator)) {}

  const ImagesSpec::Generated spec_;
  LoadedGenerator generator_;
  ImageShape shape_;
};

}  // namespace gandem
