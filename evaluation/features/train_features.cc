// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/train_features.h"

#include <torch/optim.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numbers>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/checkpoint/safetensors.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "common/files/sha256.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "evaluation/features/classifier.h"
#include "models/torch.h"
#include "pipeline/data_order.h"
#include "pipeline/dataset.h"
#include "pipeline/sources/open_dataset.h"
#include "training/compute/tensor_bytes.h"
#include "training/state/catch_torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

constexpr int64_t kClassifierBatch = 128;
constexpr double kPeakRate = 3e-3;
constexpr double kWarmup = 0.1;                // fraction of the steps
constexpr char kTestTensor[] = "gandem.test";  // int64 [right, images]
constexpr absl::Duration kTrainingProgressInterval = absl::Seconds(5);
constexpr int64_t kMaxDatasetBytes = int64_t{4} << 30;

// A labeled dataset in memory.
struct LabeledImages {
  at::Tensor images_NCHW;  // uint8
  at::Tensor labels_N;     // int64

  int64_t size() const { return labels_N.size(0); }
  ImageShape shape() const {
    return {.channels = images_NCHW.size(1),
            .height = images_NCHW.size(2),
            .width = images_NCHW.size(3)};
  }
  LabeledImages Select(const at::Tensor& indices) const {
    return {.images_NCHW = images_NCHW.index_select(0, indices),
            .labels_N = labels_N.index_select(0, indices)};
  }
};

struct LabeledSplit {
  LabeledImages train;
  LabeledImages test;
  int64_t num_classes = 0;
};

absl::Status CheckLabel(int64_t label, int64_t image) {
  if (label >= 0 && label < Classifier::kMaxClasses) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a classifier needs labels in [0, ", Classifier::kMaxClasses, "); image ",
      image, " has ",
      label == kNoLabel
          ? "none: sort the images into a folder per class, or set "
            "data.idx_labels; without labels use --features FILE "
            "(docs/evaluation.md)"
          : absl::StrCat(label)));
}

absl::StatusOr<LabeledImages> ReadLabeled(const DataConfig& data) {
  GANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          OpenDataset(data));
  const ImageShape shape = dataset->shape();
  if (dataset->size() > kMaxDatasetBytes / shape.NumValues()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(dataset->size(), " images of ", shape.NumValues(),
                     " bytes do not fit into 4 GiB: lower data.max_images"));
  }
  LabeledImages all = {
      .images_NCHW = torch::empty(
          {dataset->size(), shape.channels, shape.height, shape.width},
          torch::kByte),
      .labels_N = torch::empty({dataset->size()}, torch::kLong)};
  uint8_t* pixels = all.images_NCHW.mutable_data_ptr<uint8_t>();
  int64_t* labels = all.labels_N.mutable_data_ptr<int64_t>();
  std::vector<float> image(shape.NumValues());
  for (int64_t i = 0; i < dataset->size(); ++i) {
    GANDEM_ASSIGN_OR_RETURN(labels[i], dataset->Read(i, image));
    GANDEM_RETURN_IF_ERROR(CheckLabel(labels[i], i));
    pixels = std::transform(image.begin(), image.end(), pixels, QuantizePixel);
  }
  return all;
}

// Test images are fitted as dataset.data says. If there are none, every tenth
// image of `dataset` is held out.
absl::StatusOr<LabeledSplit> ReadLabeledSplit(const NamedDataset& dataset) {
  LabeledSplit split;
  GANDEM_ASSIGN_OR_RETURN(split.train, ReadLabeled(dataset.data));
  if (dataset.test_images.empty()) {
    const at::Tensor held_out_N =
        torch::arange(split.train.size()).remainder(10).eq(9);
    split.test = split.train.Select(held_out_N.nonzero().flatten());
    split.train =
        split.train.Select(held_out_N.logical_not().nonzero().flatten());
  } else {
    DataConfig test = dataset.data;
    test.set_idx_images(dataset.test_images);
    test.set_idx_labels(dataset.test_labels);
    test.clear_max_images();
    GANDEM_ASSIGN_OR_RETURN(split.test, ReadLabeled(test));
  }
  split.num_classes = split.train.labels_N.max().item<int64_t>() + 1;
  if (split.num_classes < 2 || split.test.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a classifier needs images of two classes or more, and a test image; "
        "there are ",
        split.train.size(), " images of ", split.num_classes, " classes, and ",
        split.test.size(), " test images"));
  }
  return split;
}

absl::Status CheckTrainingShape(ImageShape shape) {
  Faults faults("images");
  faults.CheckRange("channels", shape.channels, 1, 3);
  faults.CheckRange("height", shape.height, Classifier::kMinSize,
                    Classifier::kMaxSize);
  faults.CheckRange("width", shape.width, Classifier::kMinSize,
                    Classifier::kMaxSize);
  return faults.ToStatus();
}

std::span<const std::byte> FeatureBytesOf(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()),
          static_cast<size_t>(tensor.nbytes())};
}

// A hash of everything that the result depends on.
std::string CacheKey(const TrainFeaturesRequest& request,
                     const LabeledSplit& split) {
  Sha256 hash;
  const ImageShape shape = split.train.shape();
  hash.Update(absl::StrCat("classifier 1 batch ", kClassifierBatch, " rate ",
                           kPeakRate, " warm-up ", kWarmup, " epochs ",
                           request.epochs, " seed ", request.seed, " shape ",
                           shape.channels, " ", shape.height, " ", shape.width,
                           " test ", split.test.size(), "\n"));
  for (const LabeledImages* part : {&split.train, &split.test}) {
    hash.Update(FeatureBytesOf(part->images_NCHW));
    hash.Update(FeatureBytesOf(part->labels_N));
  }
  return hash.Finish();
}

double LearningRate(int64_t step, int64_t steps) {
  const double done =
      static_cast<double>(step + 1) / static_cast<double>(steps + 1);
  if (done < kWarmup) return kPeakRate * done / kWarmup;
  const double phase = (done - kWarmup) / (1 - kWarmup);
  return kPeakRate * 0.5 * (1 + std::cos(std::numbers::pi * phase));
}

// Images of a batch in the keyed order, which has every image once per epoch.
at::Tensor BatchIndices(const DataOrder& order, int64_t step) {
  at::Tensor indices = torch::empty({kClassifierBatch}, torch::kLong);
  int64_t* out = indices.mutable_data_ptr<int64_t>();
  for (int64_t j = 0; j < kClassifierBatch; ++j) {
    out[j] = order.ImageOfSample(step * kClassifierBatch + j);
  }
  return indices;
}

void TrainClassifier(Classifier& classifier, const LabeledImages& images,
                     const TrainFeaturesRequest& request) {
  const DataOrder order(request.seed, images.size());
  const int64_t steps =
      std::max<int64_t>(1, request.epochs * images.size() / kClassifierBatch);
  torch::optim::Adam adam(classifier.parameters());
  const absl::Time start = MonotonicNow();
  absl::Time next_line = start + kTrainingProgressInterval;
  for (int64_t step = 0; step < steps; ++step) {
    static_cast<torch::optim::AdamOptions&>(adam.param_groups()[0].options())
        .lr(LearningRate(step, steps));
    const LabeledImages batch = images.Select(BatchIndices(order, step));
    const at::Tensor logits_NK =
        classifier.Classify(batch.images_NCHW, ForwardMode::kTrain).logits_NK;
    const at::Tensor loss = at::cross_entropy_loss(logits_NK, batch.labels_N);
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (request.progress && MonotonicNow() >= next_line) {
      next_line = MonotonicNow() + kTrainingProgressInterval;
      const absl::Duration left =
          (MonotonicNow() - start) / (step + 1) * (steps - step - 1);
      request.progress(absl::StrFormat(
          "training the classifier: step %d/%d, loss %.3f, %s left", step + 1,
          steps, loss.item<double>(),
          absl::FormatDuration(absl::Ceil(left, absl::Seconds(1)))));
    }
  }
}

int64_t CountRight(Classifier& classifier, const LabeledImages& images) {
  const torch::NoGradGuard no_grad;
  int64_t right = 0;
  for (int64_t first = 0; first < images.size(); first += kClassifierBatch) {
    const int64_t last = std::min(first + kClassifierBatch, images.size());
    const at::Tensor logits_NK =
        classifier
            .Classify(images.images_NCHW.slice(0, first, last),
                      ForwardMode::kEvaluate)
            .logits_NK;
    right += logits_NK.argmax(1)
                 .eq(images.labels_N.slice(0, first, last))
                 .sum()
                 .item<int64_t>();
  }
  return right;
}

// Fills `report` from the cached file report.path.
absl::Status DescribeTraining(TrainFeaturesReport& report, ImageShape shape) {
  GANDEM_ASSIGN_OR_RETURN(const std::string sha256, Sha256OfFile(report.path));
  GANDEM_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors,
                          ReadSafetensors(report.path));
  const at::Tensor test = torch::zeros({2}, at::kLong);
  TensorReader(tensors).Load("", {{kTestTensor, test}}).IgnoreError();
  report.num_test_images = test[1].item<int64_t>();
  report.test_accuracy =
      test[0].item<double>() /
      static_cast<double>(std::max<int64_t>(1, report.num_test_images));
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<FeatureExtractor> extractor,
                          MakeClassifierExtractor(std::move(tensors), sha256,
                                                  {.image_shape = shape}));
  report.name = extractor->net().name;
  return absl::OkStatus();
}

// If two processes train the same classifier at once, the first one's file
// stays.
absl::Status WriteOnce(const Classifier& classifier, int64_t num_right,
                       int64_t num_images, const std::string& path) {
  std::vector<NamedTensor> tensors = PackClassifier(classifier);
  AppendTensors("", {{kTestTensor, torch::tensor({num_right, num_images})}},
                tensors);
  const std::string temporary = TemporaryName(path);
  const absl::Cleanup remove = [&temporary] { unlink(temporary.c_str()); };
  GANDEM_RETURN_IF_ERROR(WriteSafetensors(temporary, tensors, {}));
  if (link(temporary.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    return FileError(errno, "cannot create", path);
  }
  return FsyncDirectory(ParentOf(path));
}

// A new classifier is read back from its file, too, so that both ways give the
// same report.
absl::StatusOr<TrainFeaturesReport> TrainOrFind(
    const TrainFeaturesRequest& request) {
  const absl::Time start = MonotonicNow();
  UseThreads({.threads = request.threads});
  GANDEM_ASSIGN_OR_RETURN(const LabeledSplit split,
                          ReadLabeledSplit(request.dataset));
  const ImageShape shape = split.train.shape();
  GANDEM_RETURN_IF_ERROR(CheckTrainingShape(shape));
  const std::string folder =
      request.cache_dir.empty() ? DefaultFeatureCache() : request.cache_dir;
  GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
  TrainFeaturesReport report;
  report.path =
      absl::StrCat(folder, "/classifier-",
                   CacheKey(request, split).substr(0, 16), ".safetensors");
  report.cached = PathExists(report.path);
  if (!report.cached) {
    Classifier classifier(shape, split.num_classes, request.seed);
    TrainClassifier(classifier, split.train, request);
    GANDEM_RETURN_IF_ERROR(WriteOnce(classifier,
                                     CountRight(classifier, split.test),
                                     split.test.size(), report.path));
  }
  const absl::Status described = DescribeTraining(report, shape);
  if (!described.ok()) {
    return Annotate(described,
                    absl::StrCat("remove ", report.path, " and train again"));
  }
  report.elapsed = MonotonicNow() - start;
  return report;
}

}  // namespace

std::string DefaultFeatureCache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME");
      cache != nullptr && *cache != '\0') {
    return absl::StrCat(cache, "/gandem/features");
  }
  const char* const home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "." : home, "/.cache/gandem/features");
}

absl::StatusOr<TrainFeaturesReport> TrainFeatures(
    const TrainFeaturesRequest& request) {
  Faults faults("arguments");
  faults.CheckRange("epochs", request.epochs, 1, 1000);
  faults.CheckRange("threads", request.threads, 1, 1024);
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  return CatchTorchOr([&request] { return TrainOrFind(request); });
}

}  // namespace gandem
