// SPDX-License-Identifier: Apache-2.0
//
// A small convolutional classifier whose last hidden layer gives features where
// no Inception is at hand: convolutions with batch norm and ReLU that halve the
// image until a side has fewer than 8 pixels, then a layer of 128 hidden units
// (the features) and one of classes.
//
// Images must have the shape that the classifier was trained on.
//
// The file is safetensors: the network's state under "classifier.", and
// "gandem.classifier", int64 [version, channels, height, width, classes].
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Torch exceptions; Status where files are read.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"
#include "common/image_shape.h"
#include "evaluation/features/feature_extractor.h"
#include "models/layers/layer.h"

namespace gandem {

class Classifier : public torch::nn::Module {
 public:
  static constexpr int64_t kFeatureDim = 128;
  static constexpr int64_t kMinSize = 8;  // of height and width
  static constexpr int64_t kMaxSize = 1024;
  static constexpr int64_t kMaxClasses = 10000;

  // `shape` and `num_classes` are within the bounds above. `seed` draws the
  // initial values of He et al. (2015, "Delving deep into rectifiers", equation
  // 10) from Philox streams.
  Classifier(ImageShape shape, int64_t num_classes, uint64_t seed);

  ImageShape shape() const { return shape_; }
  int64_t num_classes() const { return num_classes_; }

  // images_NCHW: uint8, of shape(). Returns float32.
  Features Classify(const at::Tensor& images_NCHW, ForwardMode mode);

 private:
  const ImageShape shape_;
  const int64_t num_classes_;
  std::shared_ptr<Sequence> body_;
  std::shared_ptr<Layer> hidden_;
  std::shared_ptr<Layer> output_;
};

std::vector<NamedTensor> PackClassifier(const Classifier& classifier);

// Whether `tensors` come from PackClassifier.
bool HoldsClassifier(const std::vector<NamedTensor>& tensors);

// Makes an extractor that returns the classifier's hidden layer. `tensors` come
// from the file whose hash is `sha256`.
//   INVALID_ARGUMENT  the tensors are no classifier or do not fit together;
//                     another version; images of another shape.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeClassifierExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options);

}  // namespace gandem
