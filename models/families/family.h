// SPDX-License-Identifier: Apache-2.0
//
// A family of networks, as registry/registry.cc lists them. Each is one source
// that ends in it (docs/extending.md):
//
//   NetworkFamily DcganFamily() {
//     return MakeFamily<DcganGenerator, DcganDiscriminator>(
//         {.name = "dcgan", .init = WeightInit::kNormal},
//         &NetworkConfig::dcgan);
//   }
//
// common/config/network_check.h checks the options of a family. The check needs
// no LibTorch, so that a run's config is refused before a worker starts.
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

// First values of weights. Biases are 0 and normalization's weights 1 unless a
// comment below says otherwise (initialize.h has the details).
enum class WeightInit {
  kUniformFanIn,  // uniform in +-1/sqrt(fan in), biases too
  kNormal,        // N(0, 0.02); normalization's N(1, 0.02)
  kOrthogonal,
  kGlorot,  // uniform in +-init_gain * sqrt(6 / (fan in + fan out))
  kKeras,   // convolutions N(0, 0.02), fully connected kGlorot
  kFanIn,   // N(0, init_gain / sqrt(fan in)), the gain each layer's own
};

struct NetworkFamily {
  std::string name;  // its field in NetworkConfig
  WeightInit init = WeightInit::kOrthogonal;
  // Takes the place of `init` where the config decides; null: it does not.
  WeightInit (*init_of)(const NetworkConfig&) = nullptr;

  // Called with a config that has this family and passes CheckNetwork.
  std::function<std::shared_ptr<Generator>(const NetworkConfig&,
                                           const DataShape&)>
      make_generator = {};
  std::function<std::shared_ptr<Discriminator>(const NetworkConfig&,
                                               const DataShape&)>
      make_discriminator = {};
};

// `options_from` makes Options of a NetworkConfig and a DataShape, and both
// networks are made of Options.
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

// Both networks are made of the family's own message and a DataShape.
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

// The families that extras of this build bring (extras/README.md), in the order
// of NetworkConfig's fields. common/config/config_extra.h is about their
// recipes.
std::vector<NetworkFamily> ExtraFamilies();

}  // namespace gandem
