// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/classifier_extractor.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/features/classifier.h"
#include "models/torch.h"

namespace gandem {
namespace {

// No resizing: features of images that were would not be those it learned.
absl::Status CheckClassifierShape(const Classifier& classifier,
                                  ImageShape given) {
  const ImageShape shape = classifier.shape();
  if (given == shape) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "this classifier was trained on images of ", shape.channels, " x ",
      shape.height, " x ", shape.width, " and cannot judge those of ",
      given.channels, " x ", given.height, " x ", given.width,
      ": train one on the same images with `gandem train-features`"));
}

class ClassifierExtractor : public FeatureExtractor {
 public:
  ClassifierExtractor(std::shared_ptr<Classifier> classifier, FeatureNet net)
      : classifier_(std::move(classifier)), net_(std::move(net)) {}

  const FeatureNet& net() const override { return net_; }

 protected:
  absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) override {
    GANDEM_RETURN_IF_ERROR(
        CheckClassifierShape(*classifier_, {.channels = images_NCHW.size(1),
                                            .height = images_NCHW.size(2),
                                            .width = images_NCHW.size(3)}));
    Classifier::Output output =
        classifier_->Classify(images_NCHW, ForwardMode::kEvaluate);
    return Features{.features_ND = std::move(output.features_ND),
                    .logits_NK = std::move(output.logits_NK)};
  }

 private:
  const std::shared_ptr<Classifier> classifier_;
  const FeatureNet net_;
};

}  // namespace

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
                                               std::move(net));
}

}  // namespace gandem
