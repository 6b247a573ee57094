// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/resolve_data.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status.h"
#include "pipeline/arrays/array_images.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/image_sources.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// Rejects unsupported formats such as GIF before a run starts.
absl::Status CheckFormats(const ImageStore& source) {
  if (HasComputedNames(source)) return absl::OkStatus();
  for (int64_t i = 0; i < source.size(); ++i) {
    if (!IsOtherImageName(source.KeyOf(i))) continue;
    GANDEM_RETURN_IF_ERROR(source.Read(i).status());
  }
  return absl::OkStatus();
}

// Returns whether images must be inspected because the config lacks the values.
bool NeedsLook(const ImageStore& source, const DataConfig& config) {
  return source.tensors().has_value()
             ? !config.has_tensor_scale()
             : config.channels() == 0 &&
                   !source.info().common_shape.has_value();
}

absl::StatusOr<SourceLook> LookWithAdvice(const ImageStore& source,
                                          const DataConfig& config,
                                          bool for_channels) {
  absl::StatusOr<SourceLook> look = LookAtImages(source, for_channels);
  if (!look.ok()) return WithAdvice(look.status(), AdviceOnUnreadable(config));
  return look;
}

// Tensors are used as stored.
absl::Status ResolveTensors(const StoredFormat& format, const SourceLook& look,
                            DataConfig& config) {
  if (config.channels() == 0) config.set_channels(format.shape.channels);
  if (config.has_crop() && config.crop() == DataConfig::RANDOM) {
    return absl::InvalidArgumentError(
        "data.crop RANDOM is for images; tensors are taken as they are: leave "
        "it out");
  }
  if (!config.has_tensor_scale() && look.most_value > 1) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "values of its tensors reach %.3g, and networks make those of [-1, 1]: "
        "set data.tensor_scale, by which they are multiplied, to %.3g or less "
        "(or to 1, to take them as they are)",
        look.most_value, 1 / look.most_value));
  }
  config.set_fit(RESIZE);
  config.set_crop(DataConfig::NONE);
  return absl::OkStatus();
}

// Share of the cache for one window. The current, the next (fetched ahead,
// feed/sample_board.h) and the previous window must fit.
constexpr double kWindowShare = 0.25;

// Returns the number of images whose pieces fill `share` of the cache.
int64_t ImagesThatFill(double share, const ImageStore& source,
                       std::optional<int64_t> kept) {
  const double stored = static_cast<double>(source.info().stored_bytes);
  if (!kept.has_value() || stored <= share * static_cast<double>(*kept)) {
    return std::numeric_limits<int64_t>::max();
  }
  share *= static_cast<double>(*kept) / stored;
  return std::max<int64_t>(
      1, static_cast<int64_t>(share * static_cast<double>(source.size())));
}

// `look` is used only if NeedsLook.
absl::Status Resolve(const ImageStore& source, const SourceLook& look,
                     DataConfig& config) {
  GANDEM_RETURN_IF_ERROR(
      WithAdvice(CheckFormats(source), AdviceOnUnreadable(config)));
  const std::optional<ImageShape> shape = source.info().common_shape;
  if (source.tensors().has_value()) {
    GANDEM_RETURN_IF_ERROR(ResolveTensors(*source.tensors(), look, config));
  } else if (config.channels() == 0) {
    config.set_channels(shape.has_value() ? shape->channels : look.channels());
  }
  if (!config.has_fit()) {
    const int64_t side =
        shape.has_value() ? std::max(shape->height, shape->width) : 0;
    const bool pads = source.kind() == kIdxKind &&
                      side <= config.image_size() &&
                      2 * side > config.image_size();
    config.set_fit(pads ? PAD : RESIZE);
  }
  ResolveOrder(source, config);
  if (!config.has_crop()) config.set_crop(DataConfig::CENTER);
  if (!config.has_resize()) config.set_resize(DataConfig::BICUBIC);
  return absl::OkStatus();
}

}  // namespace

std::string AdviceOnUnreadable(const DataConfig& config) {
  if (config.source().empty()) return "";
  return absl::StrCat(
      "repair or remove it; or leave it out: `gandem dataset verify '",
      ShownUrl(config.source()),
      "' --exclude bad.txt` lists all such images, and ",
      "`gandem train` leaves them out of a new run by --set "
      "data.exclude=bad.txt");
}

void ResolveOrderUnseen(DataConfig& config) {
  if (!config.has_order() && IsUrl(config.source())) {
    config.set_order(DataConfig::SHARDS);
  }
}

int64_t BlockBytes(const DataConfig& config) {
  return config.memory_bytes() / 2;
}

int64_t UnitBytes(const DataConfig& config) {
  return config.memory_bytes() / 4;
}

std::optional<int64_t> KeptBytes(const ImageStore& source,
                                 const DataConfig& config) {
  if (source.info().reads_whole_units) return UnitBytes(config);
  if (!IsUrl(config.source())) return std::nullopt;
  return std::max(BlockBytes(config),
                  config.cache_dir().empty() ? 0 : config.cache_bytes());
}

void ResolveOrder(const ImageStore& source, DataConfig& config) {
  ResolveOrderUnseen(config);
  if (!config.has_order()) config.set_order(DataConfig::GLOBAL);
  if (config.order() != DataConfig::SHARDS || config.has_shuffle_window()) {
    return;
  }
  config.set_shuffle_window(std::min(
      config.shuffle_window(),
      ImagesThatFill(kWindowShare, source, KeptBytes(source, config))));
}

std::string AdviceOnWindow(const ImageStore& source, const DataConfig& config) {
  const std::optional<int64_t> kept = KeptBytes(source, config);
  if (!kept.has_value() || source.info().stored_bytes <= *kept) return "";
  const int64_t window = config.order() == DataConfig::SHARDS
                             ? config.shuffle_window()
                             : source.size();
  const int64_t most = ImagesThatFill(1, source, kept);
  if (window <= most) return "";
  return absl::StrCat(
      "its pieces will be read again and again: any of ", window,
      " images may be next, and data.memory_bytes holds those of ", most,
      "; set data.order=SHARDS and data.shuffle_window to at most ",
      ImagesThatFill(kWindowShare, source, kept),
      ", or raise data.memory_bytes",
      IsUrl(config.source()) ? ", or keep them in a data.cache_dir" : "");
}

absl::Status ResolveData(const ImageStore& source, DataConfig& config) {
  if (config.source().empty()) return absl::OkStatus();
  if (!NeedsLook(source, config)) return Resolve(source, SourceLook(), config);
  GANDEM_ASSIGN_OR_RETURN(
      const SourceLook look,
      LookWithAdvice(source, config, /*for_channels=*/true));
  return Resolve(source, look, config);
}

absl::StatusOr<std::string> ResolveAndDescribe(const ImageStore& source,
                                               DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(
      const SourceLook look,
      LookWithAdvice(source, config, /*for_channels=*/false));
  GANDEM_RETURN_IF_ERROR(Resolve(source, look, config));
  return DescribeSource(source, look, config.source());
}

}  // namespace gandem
