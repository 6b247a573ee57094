// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/feature_store.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

constexpr char kFeatures[] = "features";
constexpr char kLogits[] = "logits";

// Most networks compute in float32, which takes half the bytes without loss.
at::Tensor Narrowed(const at::Tensor& values) {
  const at::Tensor narrow = values.to(at::kFloat);
  return narrow.to(at::kDouble).equal(values) ? narrow : values;
}

// Checks the shape: the file may come from another program or network.
absl::StatusOr<at::Tensor> Widened(const std::vector<NamedTensor>& tensors,
                                   absl::string_view name, int64_t rows,
                                   int64_t columns) {
  const auto found =
      std::ranges::find(tensors, std::string(name), &NamedTensor::name);
  const std::vector<int64_t> shape = {rows, columns};
  if (found == tensors.end() || found->shape != shape ||
      (found->dtype != DType::kF32 && found->dtype != DType::kF64)) {
    return absl::DataLossError(
        absl::StrCat("it has no ", name, " [", rows, ", ", columns, "]"));
  }
  const auto dtype = found->dtype == DType::kF32 ? at::kFloat : at::kDouble;
  // from_blob() takes a mutable pointer, although to() only copies.
  void* const data =
      const_cast<void*>(static_cast<const void*>(found->bytes.data()));
  return torch::from_blob(data, {rows, columns}, dtype)
      .to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
}

absl::StatusOr<Features> ReadSlice(const std::string& path, IndexRange slice,
                                   const FeatureNet& net) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors,
                          ReadSafetensors(path));
  Features features;
  GANDEM_ASSIGN_OR_RETURN(
      features.features_ND,
      Widened(tensors, kFeatures, slice.count, net.feature_dim));
  if (net.num_classes == 0) return features;
  GANDEM_ASSIGN_OR_RETURN(
      features.logits_NK,
      Widened(tensors, kLogits, slice.count, net.num_classes));
  return features;
}

// Copies `part` into `all` from row `first` on. `all` stays float32 until a
// value needs float64.
void PutRows(const at::Tensor& part, int64_t first, at::Tensor& all) {
  const auto rows = [&] { return all.narrow(0, first, part.size(0)); };
  rows().copy_(part);
  if (all.scalar_type() == at::kDouble || rows().to(at::kDouble).equal(part)) {
    return;
  }
  all = all.to(at::kDouble);
  rows().copy_(part);
}

}  // namespace

std::vector<IndexRange> SlicesOf(int64_t num_images) {
  std::vector<IndexRange> slices;
  for (int64_t first = 0; first < num_images; first += kSliceImages) {
    slices.push_back(
        {.first = first, .count = std::min(kSliceImages, num_images - first)});
  }
  return slices;
}

// The name holds the range of images, so that jobs over different numbers of
// images share their equal slices.
std::string FeatureStore::PathOf(IndexRange slice) const {
  return absl::StrFormat("%s/features-%09d-%d.safetensors", folder_,
                         slice.first, slice.count);
}

bool FeatureStore::Has(IndexRange slice) const {
  return PathExists(PathOf(slice));
}

std::vector<IndexRange> FeatureStore::Missing(int64_t num_images) const {
  std::vector<IndexRange> missing = SlicesOf(num_images);
  std::erase_if(missing, [this](IndexRange slice) { return Has(slice); });
  return missing;
}

absl::Status FeatureStore::Write(IndexRange slice,
                                 const Features& features) const {
  TensorsByName tensors = {{kFeatures, Narrowed(features.features_ND)}};
  if (features.logits_NK.defined()) {
    tensors.emplace_back(kLogits, Narrowed(features.logits_NK));
  }
  std::vector<NamedTensor> named;
  AppendTensors("", tensors, named);
  const std::string path = PathOf(slice);
  const std::string temporary = TemporaryName(path);
  absl::Cleanup remove_temporary = [&temporary] { unlink(temporary.c_str()); };
  GANDEM_RETURN_IF_ERROR(WriteSafetensors(temporary, named, {}));
  GANDEM_RETURN_IF_ERROR(RenameDurably(temporary, path));
  std::move(remove_temporary).Cancel();
  return absl::OkStatus();
}

absl::StatusOr<Features> FeatureStore::Read(IndexRange slice,
                                            const FeatureNet& net) const {
  absl::StatusOr<Features> features =
      CatchTorchOr([&] { return ReadSlice(PathOf(slice), slice, net); });
  if (!absl::IsDataLoss(features.status())) return features;
  GANDEM_RETURN_IF_ERROR(RemoveAll(PathOf(slice)));
  return absl::DataLossError(absl::StrCat(
      "'", PathOf(slice), "' was damaged and has been removed (",
      features.status().message(),
      "): run the same command again, which computes only this slice"));
}

absl::StatusOr<Features> ReadAllFeatures(const FeatureStore& store,
                                         const FeatureNet& net,
                                         int64_t num_images, bool with_logits) {
  return CatchTorchOr([&]() -> absl::StatusOr<Features> {
    Features all;
    all.features_ND = torch::empty({num_images, net.feature_dim});
    with_logits = with_logits && net.num_classes > 0;
    if (with_logits)
      all.logits_NK = torch::empty({num_images, net.num_classes});
    for (const IndexRange slice : SlicesOf(num_images)) {
      GANDEM_ASSIGN_OR_RETURN(const Features part, store.Read(slice, net));
      PutRows(part.features_ND, slice.first, all.features_ND);
      if (with_logits) PutRows(part.logits_NK, slice.first, all.logits_NK);
    }
    return all;
  });
}

absl::StatusOr<Moments> ReadMoments(const FeatureStore& store,
                                    const FeatureNet& net, int64_t num_images) {
  return CatchTorchOr([&]() -> absl::StatusOr<Moments> {
    FeatureMoments sums(net.feature_dim);
    for (const IndexRange slice : SlicesOf(num_images)) {
      GANDEM_ASSIGN_OR_RETURN(const Features part, store.Read(slice, net));
      for (const at::Tensor& chunk_ND : part.features_ND.split(kChunkRows)) {
        GANDEM_RETURN_IF_ERROR(sums.Add(chunk_ND));
      }
    }
    return sums.Finish();
  });
}

}  // namespace gandem
