// SPDX-License-Identifier: Apache-2.0
//
// Checks of a recipe that uses StyleGAN2.
#include "absl/strings/str_cat.h"
#include "common/config/config_extra.h"

namespace gandem {
namespace {

void CheckStylegan2(const std::string& path, const NetworkConfig& network,
                    int64_t size, Faults& faults) {
  const Stylegan2Config& config = network.stylegan2();
  if (config.channel_base() < size) {
    faults.Add(absl::StrCat(path, ".channel_base ", config.channel_base(),
                            " leaves no channel for images of ", size,
                            ": at least ", size));
  }
}

}  // namespace

ConfigExtra Stylegan2ConfigExtra() {
  return {.name = "stylegan2", .check_network = &CheckStylegan2};
}

}  // namespace gandem
