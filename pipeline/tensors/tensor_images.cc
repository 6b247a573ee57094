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
#include "pipeline/remote/url.h"
#include "pipeline/tensor_samples.h"
#include "pipeline/tensors/tensor_file.h"
#include "pipeline/tensors/tensor_paths.h"

namespace gandem {
namespace {

// More are opened for each sample.
constexpr size_t kMostOpenTensorFiles = 256;
// Remote ones that are opened at a time.
constexpr int64_t kMostTensorOpenings = 16;

struct TensorShard {
  std::shared_ptr<const RandomAccessFile> file;
  TensorFile contents;  // the labels move to TensorIndex
};

// What is known of all samples.
struct TensorIndex {
  std::vector<TensorShard> shards = {};
  std::vector<int64_t> firsts = {};  // the first sample of each shard
  int64_t size = 0;
  std::vector<int64_t> labels = {};  // of each sample, or none
  std::string unused_labels = {};    // as ImageStore's
};

class TensorImages : public ImageStore {
 public:
  explicit TensorImages(TensorIndex index)
      : index_(std::move(index)),
        format_(index_.shards.front().contents.format) {}

  std::string kind() const override {
    return index_.shards.size() == 1
               ? "a file of tensors"
               : absl::StrCat(index_.shards.size(), " shards of tensors");
  }
  int64_t size() const override { return index_.size; }
  std::optional<ImageShape> common_shape() const override {
    return format_.shape;
  }
  std::optional<StoredFormat> tensors() const override { return format_; }
  int64_t stored_bytes() const override {
    return size() * format_.sample_bytes();
  }
  std::string NameOf(int64_t index) const override {
    const size_t shard = ShardOf(index);
    return absl::StrCat(index_.shards[shard].file->name(), ": sample ",
                        index - index_.firsts[shard]);
  }
  std::string KeyOf(int64_t index) const override {
    const std::string name = NameOf(index);
    const std::string& file = index_.shards[ShardOf(index)].file->name();
    return name.substr(file.rfind('/') + 1);
  }
  int64_t LabelOf(int64_t index) const override {
    return index_.labels.empty() ? kNoLabel : index_.labels[index];
  }
  const std::vector<std::string>& class_names() const override {
    return no_names_;
  }
  std::string unused_labels() const override { return index_.unused_labels; }
  std::vector<int64_t> Units() const override { return index_.firsts; }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    const size_t number = ShardOf(index);
    const TensorShard& shard = index_.shards[number];
    const int64_t bytes = format_.sample_bytes();
    return shard.file->Read(
        shard.contents.offset + (index - index_.firsts[number]) * bytes, bytes);
  }
  absl::StatusOr<DecodedImage> Decode(int64_t index,
                                      absl::string_view stored) const override;

  absl::StatusOr<std::string> ContentHash() const override {
    Sha256 hash;
    HashFormat(hash);
    for (int64_t i = 0; i < size(); ++i) {
      GANDEM_RETURN_IF_ERROR(HashSample(i, hash));
    }
    return hash.Finish();
  }
  absl::StatusOr<std::string> Fingerprint() const override {
    Sha256 hash;
    HashFormat(hash);
    for (const TensorShard& shard : index_.shards) {
      const std::string& name = shard.file->name();
      hash.Update(absl::StrCat(name.substr(name.rfind('/') + 1), " ",
                               shard.file->size(), "\n"));
    }
    const int64_t count = std::min(size(), kFingerprintImages);
    for (int64_t i = 0; i < count; ++i) {
      GANDEM_RETURN_IF_ERROR(HashSample(i * size() / count, hash));
    }
    return hash.Finish();
  }

 private:
  size_t ShardOf(int64_t index) const {
    const auto after = std::ranges::upper_bound(index_.firsts, index);
    return static_cast<size_t>(after - index_.firsts.begin()) - 1;
  }
  void HashFormat(Sha256& hash) const {
    hash.Update(absl::StrCat(size(), " tensors ", DTypeName(format_.dtype), " ",
                             TensorShapeText(format_.shape), " "));
    hash.Update(std::as_bytes(std::span(index_.labels)));
  }
  absl::Status HashSample(int64_t index, Sha256& hash) const {
    GANDEM_ASSIGN_OR_RETURN(const std::string bytes, Fetch(index));
    hash.Update(bytes);
    return absl::OkStatus();
  }

  // Never change after construction.
  const TensorIndex index_;
  const StoredFormat format_;
  const std::vector<std::string> no_names_;
};

absl::StatusOr<DecodedImage> TensorImages::Decode(
    int64_t index, absl::string_view stored) const {
  const ImageShape& shape = format_.shape;
  std::vector<float> values(static_cast<size_t>(shape.NumValues()));
  const float most = ReadTensor(stored, format_.dtype, /*scale=*/1, values);
  if (!std::isfinite(most)) {
    return absl::DataLossError(
        absl::StrCat(NameOf(index), ": a value of it is not finite"));
  }
  const bool is_half = format_.dtype == DType::kF16;
  return DecodedImage{.pixels = TileImages(values, shape),
                      .kind = {.format = "tensor",
                               .color = "floating point",
                               .bits = is_half ? 16 : 32}};
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

absl::Status AddTensorShard(TensorShard shard, TensorIndex& index) {
  if (!index.shards.empty()) {
    const TensorShard& first = index.shards.front();
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
    if (index.unused_labels.empty() &&
        index.labels.empty() != shard.contents.labels.empty()) {
      index.unused_labels =
          differs("has", index.labels.empty() ? "no labels" : "labels",
                  index.labels.empty() ? "labels" : "none");
    }
  }
  if (!shard.contents.unused_labels.empty()) {
    index.unused_labels = shard.contents.unused_labels;
  }
  index.firsts.push_back(index.size);
  index.size += shard.contents.size;
  std::ranges::copy(shard.contents.labels, std::back_inserter(index.labels));
  shard.contents.labels.clear();
  index.shards.push_back(std::move(shard));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageStore>> OpenTensorImages(
    const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<TensorPaths> paths,
                          FindTensorPaths(path));
  const bool many = paths.size() > kMostOpenTensorFiles;
  GANDEM_ASSIGN_OR_RETURN(
      std::vector<TensorShard> shards,
      MakeInParallel<TensorShard>(
          std::ssize(paths), IsUrl(path) ? kMostTensorOpenings : 1,
          [&](int64_t i) { return OpenTensorShard(paths[i], many); }));
  TensorIndex index;
  for (TensorShard& shard : shards) {
    GANDEM_RETURN_IF_ERROR(AddTensorShard(std::move(shard), index));
  }
  if (!index.unused_labels.empty()) index.labels.clear();
  return std::make_unique<TensorImages>(std::move(index));
}

}  // namespace gandem
