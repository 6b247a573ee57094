// SPDX-License-Identifier: Apache-2.0
#include "models/registry.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/status.h"
#include "models/dcgan.h"
#include "models/mlp.h"
#include "models/sndcgan.h"
#include "models/sngan.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr int64_t kMaxWidth = 1 << 16;
constexpr int64_t kMaxChannels = 1024;

// Square images of one of `sizes`.
void CheckImage(const ImageShape& image, const std::vector<int64_t>& sizes,
                Faults& faults) {
  faults.CheckRange("image channels", image.channels, 1, kMaxChannels);
  for (const int64_t size : sizes) {
    if (image.height == size && image.width == size) return;
  }
  std::string accepted;
  for (const int64_t size : sizes) {
    absl::StrAppend(&accepted, accepted.empty() ? "" : " or ", size, " x ",
                    size);
  }
  faults.Add(absl::StrCat("images of ", image.height, " x ", image.width,
                          " are not possible, it makes ", accepted));
}

absl::StatusOr<MlpOptions> ToOptions(const MlpConfig& config,
                                     const DataShape& data) {
  const ImageShape& image = data.image;
  Faults faults("network.mlp");
  faults.CheckRange("image values", image.NumValues(), 1, int64_t{1} << 24);
  for (int i = 0; i < config.hidden_size(); ++i) {
    faults.CheckRange(absl::StrCat("hidden[", i, "]"), config.hidden(i), 1,
                      kMaxWidth);
  }
  faults.CheckRange("noise_dim", config.noise_dim(), 1, kMaxWidth);
  if (!faults.empty()) return faults.ToStatus();
  return MlpOptions{.hidden = {config.hidden().begin(), config.hidden().end()},
                    .noise_dim = config.noise_dim(),
                    .image = image,
                    .num_classes = data.num_classes};
}

absl::StatusOr<DcganOptions> ToOptions(const DcganConfig& config,
                                       const ImageShape& image) {
  Faults faults("network.dcgan");
  CheckImage(image, {32, 64}, faults);
  faults.CheckRange("width", config.width(), 1, kMaxWidth);
  faults.CheckRange("noise_dim", config.noise_dim(), 1, kMaxWidth);
  if (!faults.empty()) return faults.ToStatus();
  return DcganOptions{.width = config.width(),
                      .noise_dim = config.noise_dim(),
                      .image_size = image.height,
                      .image_channels = image.channels};
}

absl::StatusOr<SndcganOptions> ToOptions(const SndcganConfig& config,
                                         const ImageShape& image) {
  Faults faults("network.sndcgan");
  CheckImage(image, {32}, faults);
  faults.CheckRange("width", config.width(), 1, kMaxWidth);
  faults.CheckRange("noise_dim", config.noise_dim(), 1, kMaxWidth);
  if (!faults.empty()) return faults.ToStatus();
  return SndcganOptions{.width = config.width(),
                        .noise_dim = config.noise_dim(),
                        .spectral_norm = config.spectral_norm(),
                        .image_channels = image.channels};
}

absl::StatusOr<SnganOptions> ToOptions(const SnganConfig& config,
                                       const ImageShape& image) {
  Faults faults("network.sngan");
  CheckImage(image, {32}, faults);
  faults.CheckRange("width", config.width(), 1, kMaxWidth);
  faults.CheckRange("noise_dim", config.noise_dim(), 1, kMaxWidth);
  if (!faults.empty()) return faults.ToStatus();
  return SnganOptions{.width = config.width(),
                      .noise_dim = config.noise_dim(),
                      .image_channels = image.channels};
}

absl::Status NoFamily() {
  return absl::InvalidArgumentError(
      "network: set one of mlp, dcgan, sndcgan, sngan");
}

}  // namespace

absl::StatusOr<std::shared_ptr<Generator>> MakeGenerator(
    const NetworkConfig& config, const DataShape& data) {
  switch (config.family_case()) {
    case NetworkConfig::kMlp: {
      GANDEM_ASSIGN_OR_RETURN(const auto options,
                              ToOptions(config.mlp(), data));
      return MakeMlpGenerator(options);
    }
    case NetworkConfig::kDcgan: {
      GANDEM_ASSIGN_OR_RETURN(const auto options,
                              ToOptions(config.dcgan(), data.image));
      return MakeDcganGenerator(options);
    }
    case NetworkConfig::kSndcgan: {
      GANDEM_ASSIGN_OR_RETURN(const auto options,
                              ToOptions(config.sndcgan(), data.image));
      return MakeSndcganGenerator(options);
    }
    case NetworkConfig::kSngan: {
      GANDEM_ASSIGN_OR_RETURN(const auto options,
                              ToOptions(config.sngan(), data.image));
      return MakeSnganGenerator(options);
    }
    case NetworkConfig::FAMILY_NOT_SET:
      break;
  }
  return NoFamily();
}

absl::StatusOr<std::shared_ptr<Discriminator>> MakeDiscriminator(
    const NetworkConfig& config, const DataShape& data) {
  switch (config.family_case()) {
    case NetworkConfig::kMlp: {
      GANDEM_ASSIGN_OR_RETURN(const auto options,
                              ToOptions(config.mlp(), data));
      return MakeMlpDiscriminator(options);
    }
    case NetworkConfig::kDcgan: {
      GANDEM_ASSIGN_OR_RETURN(const auto options,
                              ToOptions(config.dcgan(), data.image));
      return MakeDcganDiscriminator(options);
    }
    case NetworkConfig::kSndcgan: {
      GANDEM_ASSIGN_OR_RETURN(const auto options,
                              ToOptions(config.sndcgan(), data.image));
      return MakeSndcganDiscriminator(options);
    }
    case NetworkConfig::kSngan: {
      GANDEM_ASSIGN_OR_RETURN(const auto options,
                              ToOptions(config.sngan(), data.image));
      return MakeSnganDiscriminator(options);
    }
    case NetworkConfig::FAMILY_NOT_SET:
      break;
  }
  return NoFamily();
}

}  // namespace gandem
