// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/labeled_images.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/png.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/dataset.h"
#include "pipeline/sources/open_dataset.h"

namespace gandem {
namespace {

constexpr int64_t kMaxBytes = int64_t{4} << 30;

absl::Status CheckLabel(int64_t label, int64_t image, int64_t max_classes) {
  if (label >= 0 && label < max_classes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a classifier needs labels of [0, ", max_classes, "), image ", image,
      " has ",
      label == kNoLabel ? "none: set data.idx_labels" : absl::StrCat(label)));
}

absl::StatusOr<LabeledImages> ReadAll(const DataConfig& data,
                                      int64_t max_classes) {
  GANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          OpenDataset(data));
  const ImageShape shape = dataset->shape();
  if (dataset->size() > kMaxBytes / shape.NumValues()) {
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
    GANDEM_RETURN_IF_ERROR(CheckLabel(labels[i], i, max_classes));
    pixels = std::transform(image.begin(), image.end(), pixels, QuantizePixel);
  }
  return all;
}

}  // namespace

ImageShape LabeledImages::shape() const {
  return {.channels = images_NCHW.size(1),
          .height = images_NCHW.size(2),
          .width = images_NCHW.size(3)};
}

LabeledImages LabeledImages::Select(const at::Tensor& indices) const {
  return {.images_NCHW = images_NCHW.index_select(0, indices),
          .labels_N = labels_N.index_select(0, indices)};
}

absl::StatusOr<LabeledSplit> ReadLabeledSplit(const NamedDataset& dataset,
                                              int64_t max_classes) {
  LabeledSplit split;
  GANDEM_ASSIGN_OR_RETURN(split.train, ReadAll(dataset.data, max_classes));
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
    GANDEM_ASSIGN_OR_RETURN(split.test, ReadAll(test, max_classes));
  }
  split.num_classes = split.train.labels_N.max().item<int64_t>() + 1;
  if (split.num_classes < 2 || split.test.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a classifier needs images of two classes or more and one to test on; "
        "there are ",
        split.train.size(), " of ", split.num_classes, " classes, and ",
        split.test.size(), " to test on"));
  }
  return split;
}

}  // namespace gandem
