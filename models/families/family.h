// SPDX-License-Identifier: Apache-2.0
//
// A family of networks, as listed in registry/registry.cc. Each is one source,
// which ends with its function (docs/extending.md):
//
//   NetworkFamily DcganFamily() {
//     return MakeFamily<DcganGenerator, DcganDiscriminator>(
//         {.name = "dcgan", .init = WeightInit::kNormal},
//         &NetworkConfig::dcgan);
//   }
//
// common/config/network_check.h checks a family's options without LibTorch, so
// that an invalid config is rejected before a worker starts.
//
// Owner: the registry. Thread safety: never changes after construction.
// Errors: Torch exceptions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/config/data_shape.h"
#include "models/network.h"

namespace gandem {

class NetworkConfig;  // proto/config.proto

// Distribution of initial weights. Biases are 0 and weights of normalization
// are 1 unless stated otherwise (details in initialize.h).
enum class WeightInit {
  kUniformFanIn,  // uniform in +-1/sqrt(fan in), also for biases
  kNormal,        // N(0, 0.02); normalization: N(1, 0.02)
  kOrthogonal,
  kGlorot,  // uniform in +-init_gain * sqrt(6 / (fan in + fan out))
  kKeras,   // convolutions N(0, 0.02), fully connected: kGlorot
  kFanIn,   // N(0, init_gain / sqrt(fan in)), with the gain of each layer
};

struct NetworkFamily {
  std::string name;  // the field in NetworkConfig
  WeightInit init = WeightInit::kOrthogonal;
  // Replaces `init` if the config decides; may be null.
  WeightInit (*init_of)(const NetworkConfig&) = nullptr;

  // Called with a config that has this family and passes CheckNetwork.
  std::function<std::shared_ptr<Generator>(const NetworkConfig&,
                                           const DataShape&)>
      make_generator = {};
  std::function<std::shared_ptr<Discriminator>(const NetworkConfig&,
                                               const DataShape&)>
      make_discriminator = {};
};

// Makes both networks from Options, which `options_from` makes from a
// NetworkConfig and a DataShape.
template <typename ThisGenerator, typename ThisDiscriminator,
          typename OptionsFrom>
NetworkFamily MakeFamily(NetworkFamily family, OptionsFrom options_from) {
  family.make_generator = [=](const NetworkConfig& config,
                              const DataShape& data) {
    return std::make_shared<ThisGenerator>(options_from(config, data));
  };
  family.make_discriminator = [=](const NetworkConfig& config,
                                  const DataShape& data) {
    return std::make_shared<ThisDiscriminator>(options_from(config, data));
  };
  return family;
}

// Makes both networks from the family's own message and a DataShape.
template <typename ThisGenerator, typename ThisDiscriminator, typename Config>
NetworkFamily MakeFamily(NetworkFamily family,
                         const Config& (NetworkConfig::*message)() const) {
  family.make_generator = [=](const NetworkConfig& config,
                              const DataShape& data) {
    return std::make_shared<ThisGenerator>((config.*message)(), data);
  };
  family.make_discriminator = [=](const NetworkConfig& config,
                                  const DataShape& data) {
    return std::make_shared<ThisDiscriminator>((config.*message)(), data);
  };
  return family;
}

// Returns the families of this build's extras (extras/README.md), in the order
// of NetworkConfig's fields (recipes: common/config/config_extra.h).
std::vector<NetworkFamily> ExtraFamilies();

}  // namespace gandem
