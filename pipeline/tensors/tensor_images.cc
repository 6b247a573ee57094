// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tensors/tensor_images.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/in_parallel.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/tensor_samples.h"
#include "pipeline/tensors/tensor_file.h"
#include "pipeline/tensors/tensor_paths.h"

namespace gandem {
namespace {

// Larger sources reopen their files for each sample.
constexpr size_t kMostOpenTensorFiles = 256;
// Remote files opened concurrently.
constexpr int64_t kMostTensorOpenings = 16;

struct TensorShard {
  std::shared_ptr<const RandomAccessFile> file;
  TensorFile contents;  // its labels are moved to SourceInfo
};

class TensorImages : public ImageStore {
 public:
  TensorImages(SourceInfo info, std::vector<TensorShard> shards)
      : ImageStore(std::move(info)), shards_(std::move(shards)) {}

  std::string NameOf(int64_t index) const override {
    const size_t shard = ShardOf(index);
    return absl::StrCat(shards_[shard].file->name(), ": sample ",
                        index - info().units[shard]);
  }
  std::string KeyOf(int64_t index) const override {
    const std::string name = NameOf(index);
    const std::string& file = shards_[ShardOf(index)].file->name();
    return name.substr(file.rfind('/') + 1);
  }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    const size_t number = ShardOf(index);
    const TensorShard& shard = shards_[number];
    const int64_t bytes = tensors()->sample_bytes();
    return shard.file->Read(
        shard.contents.offset + (index - info().units[number]) * bytes, bytes);
  }
  absl::StatusOr<DecodedImage> Decode(int64_t index,
                                      absl::string_view stored) const override;

  absl::StatusOr<std::string> ContentHash() const override {
    Sha256 hash;
    hash.Update(absl::StrCat(size(), " tensors ", DTypeName(tensors()->dtype),
                             " ", TensorShapeText(tensors()->shape), " "));
    hash.Update(std::as_bytes(std::span(info().labels)));
    for (int64_t i = 0; i < size(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(const std::string bytes, Fetch(i));
      hash.Update(bytes);
    }
    return hash.Finish();
  }

 private:
  size_t ShardOf(int64_t index) const {
    const auto after = std::ranges::upper_bound(info().units, index);
    return static_cast<size_t>(after - info().units.begin()) - 1;
  }

  const std::vector<TensorShard> shards_;  // never changes after construction
};

absl::StatusOr<DecodedImage> TensorImages::Decode(
    int64_t index, absl::string_view stored) const {
  const auto& [dtype, shape] = *tensors();
  std::vector<float> values(static_cast<size_t>(shape.NumValues()));
  const float most = ReadTensor(stored, dtype, /*scale=*/1, values);
  if (!std::isfinite(most)) {
    return absl::DataLossError(
        absl::StrCat(NameOf(index), ": a value of it is not finite"));
  }
  return DecodedImage{.pixels = TileImages(values, shape),
                      .kind = {.format = "tensor",
                               .color = "floating point",
                               .bits = dtype == DType::kF16 ? 16 : 32}};
}

absl::StatusOr<TensorShard> OpenTensorShard(const TensorPaths& paths,
                                            bool on_demand) {
  GANDEM_ASSIGN_OR_RETURN(const auto file, OpenFile(paths.samples));
  TensorShard shard = {.file = file, .contents = {}};
  GANDEM_ASSIGN_OR_RETURN(shard.contents, ReadTensorFile(*file));
  if (on_demand) {
    GANDEM_ASSIGN_OR_RETURN(shard.file, OpenFileOnDemand(paths.samples));
  }
  if (paths.labels.empty()) return shard;
  GANDEM_ASSIGN_OR_RETURN(const auto file_of_labels, OpenFile(paths.labels));
  auto labels = ReadLabelArray(*file_of_labels);
  const int64_t count = labels.ok() ? std::ssize(*labels) : 0;
  if (count > 0 && count != shard.contents.size) {
    labels = absl::InvalidArgumentError(absl::StrCat(
        "'", file_of_labels->name(), "' has ", count, " labels, and '",
        file->name(), "' ", shard.contents.size, " samples"));
  }
  GANDEM_RETURN_IF_ERROR(UseLabels(std::move(labels), shard.contents));
  return shard;
}

std::string StoredFormatText(const StoredFormat& format) {
  return absl::StrCat(DTypeName(format.dtype), " ",
                      TensorShapeText(format.shape));
}

absl::Status AddTensorShard(TensorShard shard, SourceInfo& info,
                            std::vector<TensorShard>& shards) {
  if (!shards.empty()) {
    const TensorShard& first = shards.front();
    const auto differs = [&](absl::string_view what, absl::string_view here,
                             absl::string_view there) {
      return absl::StrCat(
          "'", first.file->name(), "' ", what, " ", here, ", and '",
          shard.file->name(), "' ", there,
          ": shards of one data set are alike; name those that are");
    };
    const StoredFormat& format = first.contents.format;
    const StoredFormat& other = shard.contents.format;
    if (format.dtype != other.dtype || format.shape != other.shape) {
      return absl::InvalidArgumentError(
          differs("holds", StoredFormatText(format), StoredFormatText(other)));
    }
    if (info.unused_labels.empty() &&
        info.labels.empty() != shard.contents.labels.empty()) {
      info.unused_labels =
          differs("has", info.labels.empty() ? "no labels" : "labels",
                  info.labels.empty() ? "labels" : "none");
    }
  }
  if (!shard.contents.unused_labels.empty()) {
    info.unused_labels = shard.contents.unused_labels;
  }
  info.units.push_back(info.size);
  info.size += shard.contents.size;
  std::ranges::copy(shard.contents.labels, std::back_inserter(info.labels));
  shard.contents.labels.clear();
  shards.push_back(std::move(shard));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageStore>> OpenTensorImages(
    const Location& at) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<TensorPaths> paths,
                          FindTensorPaths(at));
  const bool many = paths.size() > kMostOpenTensorFiles;
  GANDEM_ASSIGN_OR_RETURN(
      std::vector<TensorShard> opened,
      MakeInParallel<TensorShard>(
          std::ssize(paths), at.is_url ? kMostTensorOpenings : 1,
          [&](int64_t i) { return OpenTensorShard(paths[i], many); }));
  SourceInfo info = {.units = {}};
  std::vector<TensorShard> shards;
  for (TensorShard& shard : opened) {
    GANDEM_RETURN_IF_ERROR(AddTensorShard(std::move(shard), info, shards));
  }
  if (!info.unused_labels.empty()) info.labels.clear();
  info.kind = shards.size() == 1
                  ? "a file of tensors"
                  : absl::StrCat(shards.size(), " shards of tensors");
  info.tensors = shards.front().contents.format;
  info.common_shape = info.tensors->shape;
  info.stored_bytes = info.size * info.tensors->sample_bytes();
  return std::make_unique<TensorImages>(std::move(info), std::move(shards));
}

}  // namespace gandem
