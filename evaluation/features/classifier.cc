// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/classifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/philox.h"
#include "common/status.h"
#include "models/layers/batch_norm.h"
#include "models/layers/weighted.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

constexpr char kHeader[] = "gandem.classifier";
constexpr char kPrefix[] = "classifier.";
constexpr int64_t kVersion = 1;

constexpr int64_t kFirstWidth = 32;
constexpr int64_t kMaxWidth = 128;
// First stream that no GAN's initialization uses
// (models/registry/initialize.h).
constexpr uint64_t kFirstTensor = uint64_t{2} << 32;

using ClassifierHeader = std::array<int64_t, 5>;

at::Tensor ClassifierMaxPool(at::Tensor input_NCHW) {
  return at::max_pool2d(input_NCHW, /*kernel_size=*/2);
}

// Convolutions with the channels last are about twice as fast here.
void PutChannelsLast(torch::nn::Module& network) {
  for (at::Tensor& parameter : network.parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

// Draws weights from N(0, 2 / fan in); other parameters keep the values of
// their layers.
void Initialize(torch::nn::Module& network, uint64_t seed) {
  const torch::NoGradGuard no_grad;
  uint64_t tensor = kFirstTensor;
  for (at::Tensor& parameter : network.parameters()) {
    if (parameter.dim() < 2) continue;
    const double scale =
        std::sqrt(2.0 / static_cast<double>(parameter[0].numel()));
    at::Tensor values = torch::empty(parameter.sizes(), torch::kFloat);
    PhiloxStream(seed, Purpose::kInit, tensor++, 0)
        .FillNormal({values.mutable_data_ptr<float>(),
                     static_cast<size_t>(values.numel())});
    parameter.copy_(values * scale);
  }
}

// The layers depend on the header. Its numbers come from a file, so they are
// checked before a layer is made.
absl::StatusOr<std::shared_ptr<Classifier>> UnpackClassifier(
    std::vector<NamedTensor> tensors) {
  ClassifierHeader header = {};
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name != kHeader) continue;
    if (tensor.dtype != DType::kI64 || tensor.bytes.size() != sizeof(header)) {
      return absl::InvalidArgumentError(
          absl::StrCat(kHeader, " must be int64 [", header.size(), "]"));
    }
    std::memcpy(header.data(), tensor.bytes.data(), sizeof(header));
  }
  const auto& [version, channels, height, width, num_classes] = header;
  if (version != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the classifier has version ", version, ", but gandem reads version ",
        kVersion, ": train it again with `gandem train-features`"));
  }
  Faults faults(kHeader);
  faults.CheckRange("channels", channels, 1, 3);
  faults.CheckRange("height", height, Classifier::kMinSize,
                    Classifier::kMaxSize);
  faults.CheckRange("width", width, Classifier::kMinSize, Classifier::kMaxSize);
  faults.CheckRange("classes", num_classes, 2, Classifier::kMaxClasses);
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  auto classifier = std::make_shared<Classifier>(
      ImageShape{.channels = channels, .height = height, .width = width},
      num_classes, /*seed=*/0);
  GANDEM_RETURN_IF_ERROR(
      TensorReader(std::move(tensors)).Load(kPrefix, StateOf(*classifier)));
  return classifier;
}

// Images are not resized: the classifier has learned no features of resized
// images.
absl::Status CheckClassifierShape(const Classifier& classifier,
                                  ImageShape given) {
  const ImageShape shape = classifier.shape();
  if (given == shape) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "this classifier was trained on images of ", shape.channels, " x ",
      shape.height, " x ", shape.width, " and cannot take images of ",
      given.channels, " x ", given.height, " x ", given.width,
      ": train one on such images with `gandem train-features`"));
}

class ClassifierExtractor : public FeatureExtractor {
 public:
  ClassifierExtractor(std::shared_ptr<Classifier> classifier, FeatureNet net,
                      const FeatureCompute& compute)
      : FeatureExtractor(std::move(net), compute),
        classifier_(std::move(classifier)) {
    classifier_->to(compute.device);
  }

 protected:
  absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) override {
    GANDEM_RETURN_IF_ERROR(
        CheckClassifierShape(*classifier_, {.channels = images_NCHW.size(1),
                                            .height = images_NCHW.size(2),
                                            .width = images_NCHW.size(3)}));
    return classifier_->Classify(images_NCHW.to(compute().device),
                                 ForwardMode::kEvaluate);
  }

 private:
  const std::shared_ptr<Classifier> classifier_;
};

}  // namespace

Classifier::Classifier(ImageShape shape, int64_t num_classes, uint64_t seed)
    : shape_(shape), num_classes_(num_classes) {
  body_ = register_module("body", std::make_shared<Sequence>());
  // The image is largest in the first layer, which saves time with a stride of
  // 2; later layers pool.
  body_->Add(std::make_shared<Conv2d>(ConvOptions{.in_channels = shape.channels,
                                                  .out_channels = kFirstWidth,
                                                  .kernel = 5,
                                                  .stride = 2,
                                                  .padding = 2,
                                                  .bias = false}));
  body_->Add(std::make_shared<BatchNorm>(
      BatchNorm::Options{.num_features = kFirstWidth}));
  body_->Add(&Relu);
  int64_t channels = kFirstWidth;
  int64_t height = (shape.height + 1) / 2;
  int64_t width = (shape.width + 1) / 2;
  while (std::min(height, width) >= kMinSize) {
    const int64_t next = std::min(2 * channels, kMaxWidth);
    body_->Add(std::make_shared<Conv2d>(ConvOptions{.in_channels = channels,
                                                    .out_channels = next,
                                                    .kernel = 3,
                                                    .padding = 1,
                                                    .bias = false}));
    body_->Add(
        std::make_shared<BatchNorm>(BatchNorm::Options{.num_features = next}));
    body_->Add(&Relu).Add(&ClassifierMaxPool);
    channels = next;
    height /= 2;
    width /= 2;
  }
  hidden_ =
      register_module("hidden", std::make_shared<Linear>(Linear::Options{
                                    .in_features = channels * height * width,
                                    .out_features = kFeatureDim}));
  output_ = register_module(
      "output", std::make_shared<Linear>(Linear::Options{
                    .in_features = kFeatureDim, .out_features = num_classes}));
  Initialize(*this, seed);
  PutChannelsLast(*this);
}

Features Classifier::Classify(const at::Tensor& images_NCHW, ForwardMode mode) {
  // Stored classifiers were trained with this float32 scaling, which differs
  // from that of pipeline/ by up to 6e-8.
  const at::Tensor input_NCHW = images_NCHW.to(at::kFloat).div_(127.5).sub_(1);
  const at::Tensor maps_NCHW = body_->forward(input_NCHW, mode);
  Features output;
  output.features_ND = hidden_->forward(maps_NCHW.flatten(1), mode).relu_();
  output.logits_NK = output_->forward(output.features_ND, mode);
  return output;
}

std::vector<NamedTensor> PackClassifier(const Classifier& classifier) {
  const ImageShape shape = classifier.shape();
  std::vector<NamedTensor> tensors;
  AppendTensors(
      "",
      {{kHeader, torch::tensor({kVersion, shape.channels, shape.height,
                                shape.width, classifier.num_classes()})}},
      tensors);
  AppendTensors(kPrefix, StateOf(classifier), tensors);
  return tensors;
}

bool HoldsClassifier(const std::vector<NamedTensor>& tensors) {
  return std::ranges::find(tensors, kHeader, &NamedTensor::name) !=
         tensors.end();
}

absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeClassifierExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(std::shared_ptr<Classifier> classifier,
                          UnpackClassifier(std::move(tensors)));
  GANDEM_RETURN_IF_ERROR(
      CheckClassifierShape(*classifier, options.image_shape));
  FeatureNet net = {.name = absl::StrCat("classifier-", sha256.substr(0, 8)),
                    .sha256 = sha256,
                    .feature_dim = Classifier::kFeatureDim,
                    .num_classes = classifier->num_classes(),
                    .resize = "none",
                    .is_inception = false};
  return std::make_unique<ClassifierExtractor>(std::move(classifier),
                                               std::move(net), options.compute);
}

}  // namespace gandem
