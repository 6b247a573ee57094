// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/open_dataset.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/arrays/array_images.h"
#include "pipeline/fitted_images.h"
#include "pipeline/formats/exclude_list.h"
#include "pipeline/formats/idx_reader.h"
#include "pipeline/remote/remote_store.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/sources/image_views.h"
#include "pipeline/sources/resolve_data.h"
#include "pipeline/tensor_samples.h"
#include "pipeline/transforms.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using Source = std::shared_ptr<const ImageStore>;

// Maximum size of an exclude list.
constexpr int64_t kMaxExcludeBytes = 64 << 20;

absl::string_view ImagesField(const DataConfig& config) {
  return config.source().empty() ? "data.idx_images" : "data.source";
}

// Checks the labels of all images, regardless of max_images.
absl::Status CheckLabels(const std::vector<int64_t>& labels,
                         absl::string_view unused, const DataConfig& config) {
  const int64_t num_classes = config.num_classes();
  if (num_classes == 0) return absl::OkStatus();
  const std::string where =
      ShownUrl(config.source().empty() && !config.idx_labels().empty()
                   ? config.idx_labels()
                   : ImagesPath(config));
  if (labels.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, " has no labels",
        unused.empty() ? "" : absl::StrCat(" that can be used (", unused, ")"),
        ", and data.num_classes is ", num_classes,
        ": set it to 0 for networks that are not told them"));
  }
  const auto bad = std::ranges::find_if(
      labels, [&](int64_t label) { return label >= num_classes; });
  if (bad == labels.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": image ", bad - labels.begin(), " has label ", *bad,
                   ", data.num_classes is ", num_classes,
                   ": set it to the number of classes of the file"));
}

void UseCaches(const DataConfig& config) {
  ProcessRemoteStore().SetCaches({.block_bytes = BlockBytes(config),
                                  .disk_folder = config.cache_dir(),
                                  .disk_bytes = config.cache_bytes()});
}

absl::StatusOr<std::vector<std::string>> ReadExcludeList(
    const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(config.exclude(), kMaxExcludeBytes));
  Sha256 hash;
  hash.Update(text);
  const std::string sha256 = hash.Finish();
  if (!config.exclude_sha256().empty() && sha256 != config.exclude_sha256()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", config.exclude(),
        "' is not the list that the run began with: ", "its SHA-256 is ",
        sha256, ", data.exclude_sha256 is ", config.exclude_sha256(),
        "; put that list back, or begin another run with the new one (another ",
        "--run_dir)"));
  }
  auto keys = ParseExcludeList(text);
  if (!keys.ok()) return Annotate(keys.status(), config.exclude());
  return keys;
}

// Formats "'a', 'b', 'c' and 4 others".
std::string SomeOf(const std::vector<std::string>& keys) {
  constexpr size_t kSome = 3;
  const size_t some = std::min(kSome, keys.size());
  std::string text = absl::StrCat(
      "'", absl::StrJoin(keys.begin(), keys.begin() + some, "', '"), "'");
  if (some < keys.size()) {
    absl::StrAppend(&text, " and ", keys.size() - some, " others");
  }
  return text;
}

// Returns the indices of the images in data.exclude.
absl::StatusOr<std::vector<int64_t>> LeftOutOf(const ImageStore& source,
                                               const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> keys,
                          ReadExcludeList(config));
  GANDEM_ASSIGN_OR_RETURN(std::vector<int64_t> places,
                          FindImages(source, keys));
  const auto share =
      static_cast<double>(places.size()) / static_cast<double>(source.size());
  if (share > config.max_excluded()) {
    return absl::InvalidArgumentError(absl::StrCat(
        places.size(), " of ", source.size(), " images are left out (",
        SomeOf(keys), "), more than the share of ", config.max_excluded(),
        ": look at them, and if that is right set data.max_excluded to ",
        absl::StrFormat("%.3g", share * 1.01)));
  }
  return places;
}

SourceOptions OptionsOf(const DataConfig& config) {
  return {.member = config.member(), .unit_bytes = UnitBytes(config)};
}

// Opens data.source or data.idx_images with all images.
absl::StatusOr<Source> OpenWhole(const DataConfig& config) {
  if (!config.source().empty()) {
    OpenedSource source = OpenSource(config.source(), OptionsOf(config));
    if (!source.ok()) return Annotate(source.status(), "data.source");
    return *std::move(source);
  }
  if (!config.idx_labels().empty()) {
    // Reads the labels separately, so that errors name their field.
    const auto labels = ReadIdx(config.idx_labels(), /*num_dimensions=*/1);
    GANDEM_RETURN_IF_ERROR(Annotate(labels.status(), "data.idx_labels"));
  }
  OpenedSource source = OpenIdx(config.idx_images(), config.idx_labels());
  if (!source.ok()) return Annotate(source.status(), "data.idx_images");
  return *std::move(source);
}

// Returns the half with the input images if `inputs`, otherwise the other half.
absl::StatusOr<Source> HalfFor(const DataConfig& config, Source source,
                               bool inputs) {
  if (config.side_by_side() == DataConfig::NO_PAIRS) return source;
  if (source->tensors().has_value()) {
    return absl::InvalidArgumentError(
        "data.side_by_side is for images, and data.source holds tensors: put "
        "what is to be translated into shards of their own, data.inputs");
  }
  const bool left = (config.side_by_side() == DataConfig::INPUT_LEFT) == inputs;
  return HalfOf(std::move(source), left ? ImageHalf::kLeft : ImageHalf::kRight);
}

absl::StatusOr<Source> OpenInputs(const OpenedData& opened,
                                  const DataConfig& config) {
  if (config.side_by_side() != DataConfig::NO_PAIRS) {
    return HalfFor(config, opened.whole, /*inputs=*/true);
  }
  const bool idx = config.inputs().empty();
  OpenedSource source =
      idx ? OpenIdx(config.idx_inputs(), "")
          : OpenSource(config.inputs(), {.unit_bytes = UnitBytes(config)});
  if (!source.ok()) {
    return Annotate(source.status(), idx ? "data.idx_inputs" : "data.inputs");
  }
  // Excludes the inputs, too. JoinPairs reports differing numbers of images.
  const int64_t all = opened.whole->size() + std::ssize(opened.left_out);
  if (opened.left_out.empty() || (*source)->size() != all) {
    return *std::move(source);
  }
  return LeaveOut(*std::move(source), opened.left_out);
}

std::optional<ResizeKernel> KernelOf(DataConfig::Kernel kernel) {
  switch (kernel) {
    case DataConfig::BICUBIC:
      return ResizeKernel::kBicubic;
    case DataConfig::LANCZOS:
      return ResizeKernel::kLanczos;
    case DataConfig::BILINEAR:
      return ResizeKernel::kBilinear;
    case DataConfig::BOX:
      return ResizeKernel::kBox;
    case DataConfig::AREA:
      break;
  }
  return std::nullopt;
}

CropPlace CropOf(DataConfig::Crop crop) {
  switch (crop) {
    case DataConfig::CENTER:
      return CropPlace::kCenter;
    case DataConfig::RANDOM:
      return CropPlace::kRandom;
    case DataConfig::NONE:
      break;
  }
  return CropPlace::kAll;
}

int64_t WindowOf(const DataConfig& config) {
  return config.order() == DataConfig::SHARDS ? config.shuffle_window() : 0;
}

Fitting FittingOf(const DataConfig& config) {
  return {.size = config.image_size(),
          .channels = DataShapeOf(config).image.channels,
          .pad = config.fit() == PAD,
          .crop = CropOf(config.crop()),
          .kernel = KernelOf(config.resize()),
          .flip = config.horizontal_flip(),
          .max_images = config.max_images(),
          .shuffle_window = WindowOf(config),
          .if_unreadable = AdviceOnUnreadable(config)};
}

absl::StatusOr<std::unique_ptr<Dataset>> MakeDataset(Source source,
                                                     const Fitting& fitting,
                                                     const DataConfig& config) {
  return source->tensors().has_value()
             ? TensorSamples::Create(std::move(source), fitting,
                                     config.tensor_scale())
             : FittedImages::Create(std::move(source), fitting);
}

struct FittedData {
  std::unique_ptr<Dataset> dataset;
  Fitting fitting;
};

absl::StatusOr<FittedData> FitData(const OpenedData& opened,
                                   const DataConfig& config) {
  const SourceInfo& info = opened.images->info();
  GANDEM_RETURN_IF_ERROR(CheckLabels(info.labels, info.unused_labels, config));
  DataConfig resolved = config;
  const absl::Status looked = ResolveData(*opened.images, resolved);
  if (!looked.ok()) return Annotate(looked, ImagesField(config));
  FittedData fitted = {.dataset = nullptr, .fitting = FittingOf(resolved)};
  auto dataset = MakeDataset(opened.images, fitted.fitting, resolved);
  if (!dataset.ok()) return Annotate(dataset.status(), ImagesField(config));
  fitted.dataset = *std::move(dataset);
  return fitted;
}

}  // namespace

absl::StatusOr<OpenedData> OpenData(const DataConfig& config) {
  UseCaches(config);
  OpenedData opened;
  GANDEM_ASSIGN_OR_RETURN(opened.whole, OpenWhole(config));
  if (!config.exclude().empty()) {
    auto left_out = LeftOutOf(*opened.whole, config);
    if (!left_out.ok()) return Annotate(left_out.status(), "data.exclude");
    opened.left_out = *std::move(left_out);
    if (!opened.left_out.empty()) {
      opened.whole = LeaveOut(std::move(opened.whole), opened.left_out);
    }
  }
  GANDEM_ASSIGN_OR_RETURN(opened.images,
                          HalfFor(config, opened.whole, /*inputs=*/false));
  const absl::Status same =
      CheckListing(*opened.images, config.listing_sha256());
  if (!same.ok()) return Annotate(same, "data.source");
  return opened;
}

absl::StatusOr<std::shared_ptr<const ImageStore>> OpenImages(
    const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(OpenedData opened, OpenData(config));
  return std::move(opened.images);
}

absl::StatusOr<std::shared_ptr<const Dataset>> DatasetOf(
    const OpenedData& opened, const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(FittedData fitted, FitData(opened, config));
  return std::shared_ptr<const Dataset>(std::move(fitted.dataset));
}

absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(
    const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(const OpenedData opened, OpenData(config));
  return DatasetOf(opened, config);
}

absl::StatusOr<DatasetLabels> ReadDatasetLabels(const DataConfig& config) {
  DatasetLabels read;
  Source source;
  std::string unused;
  if (!config.source().empty()) {
    GANDEM_ASSIGN_OR_RETURN(source, OpenImages(config));
    read.labels = source->info().labels;
    unused = source->info().unused_labels;
  } else if (!config.idx_labels().empty()) {
    GANDEM_ASSIGN_OR_RETURN(const IdxArray idx,
                            ReadIdx(config.idx_labels(), /*num_dimensions=*/1));
    read.labels.assign(idx.values.begin(), idx.values.end());
  } else {
    return read;
  }
  GANDEM_RETURN_IF_ERROR(CheckLabels(read.labels, unused, config));
  if (read.labels.empty()) return read;
  const auto limit = static_cast<size_t>(config.max_images());
  if (limit > 0 && limit < read.labels.size()) read.labels.resize(limit);
  DataConfig resolved = config;
  if (source != nullptr) ResolveOrder(*source, resolved);
  const int64_t size = std::ssize(read.labels);
  const int64_t window = WindowOf(resolved);
  read.units = source != nullptr ? UnitsOf(*source, size, window)
                                 : ImageUnits{.size = size, .window = window};
  return read;
}

absl::StatusOr<std::string> HashOfInputs(const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(const OpenedData opened, OpenData(config));
  GANDEM_ASSIGN_OR_RETURN(const Source inputs, OpenInputs(opened, config));
  return inputs->ContentHash();
}

absl::StatusOr<std::shared_ptr<const Dataset>> PairsOf(
    const OpenedData& opened, const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(FittedData fitted, FitData(opened, config));
  GANDEM_ASSIGN_OR_RETURN(Source source, OpenInputs(opened, config));
  auto inputs = MakeDataset(std::move(source), fitted.fitting, config);
  if (!inputs.ok()) return Annotate(inputs.status(), "data.inputs");
  absl::StatusOr<std::unique_ptr<Dataset>> pairs =
      JoinPairs(std::move(fitted.dataset), *std::move(inputs));
  if (!pairs.ok()) {
    return Annotate(
        pairs.status(),
        absl::StrCat(ImagesField(config), " and data.",
                     config.inputs().empty() ? "idx_inputs" : "inputs"));
  }
  return std::shared_ptr<const Dataset>(*std::move(pairs));
}

absl::StatusOr<std::shared_ptr<const Dataset>> OpenPairs(
    const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(const OpenedData opened, OpenData(config));
  return PairsOf(opened, config);
}

}  // namespace gandem
