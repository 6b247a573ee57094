// SPDX-License-Identifier: Apache-2.0
//
// A small convolutional classifier, whose last hidden layer gives features
// where no Inception is at hand: convolutions with batch norm and ReLU that
// halve the image until it has less than 8 pixels a side, then a layer of 128
// hidden units (the features) and one of classes.
//
// Images must have the shape that it was trained on.
//
// Its file is safetensors: the network's state under "classifier.", and
// "gandem.classifier", int64 [version, channels, height, width, classes].
//
// Owner: whoever trains or evaluates. Thread safety: one compute thread.
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

  // `shape` and `num_classes` are within the bounds above. The first values
  // are He et al.'s (2015, "Delving deep into rectifiers", equation 10), drawn
  // from Philox streams of `seed`.
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

// The tensors of the file.
std::vector<NamedTensor> PackClassifier(const Classifier& classifier);

// Whether these are the tensors of a classifier's file.
bool HoldsClassifier(const std::vector<NamedTensor>& tensors);

// Features of it: its hidden layer. `tensors` are those of the file whose hash
// is `sha256`.
//   INVALID_ARGUMENT  they are no classifier, of another version, do not fit
//                     together, or it is one for other images.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeClassifierExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options);

}  // namespace gandem
