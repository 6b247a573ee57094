// SPDX-License-Identifier: Apache-2.0
//
// A family of networks, as models/registry/registry.cc lists them. Each is a
// file whose header declares one function and whose source ends in it
// (docs/extending.md):
//
//   NetworkFamily DcganFamily() {
//     return MakeFamily<DcganGenerator, DcganDiscriminator>(
//         {.name = "dcgan", .init = WeightInit::kNormal}, &OptionsFrom);
//   }
//
// Owner: the registry. Thread safety: never changes after construction.
// Errors: those of the family's own function OptionsFrom.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/config/data_shape.h"
#include "common/status.h"
#include "models/network.h"

namespace gandem {

class NetworkConfig;  // proto/config.proto

// First values of weights; biases are 0 and normalization's weights 1 but where
// something else is said (initialize.h has the details).
enum class WeightInit {
  kUniformFanIn,  // uniform in +-1/sqrt(fan in), biases too
  kNormal,        // N(0, 0.02); normalization's N(1, 0.02)
  kOrthogonal,
  kGlorot,  // uniform in +-sqrt(6 / (fan in + fan out))
  kKeras,   // convolutions N(0, 0.02), fully connected kGlorot
};

struct NetworkFamily {
  std::string name;  // its field in NetworkConfig
  WeightInit init = WeightInit::kOrthogonal;

  // Called with a config that has this family and passes CheckNetwork
  // (common/config/network_check.h).
  std::function<absl::StatusOr<std::shared_ptr<Generator>>(const NetworkConfig&,
                                                           const DataShape&)>
      make_generator = {};
  std::function<absl::StatusOr<std::shared_ptr<Discriminator>>(
      const NetworkConfig&, const DataShape&)>
      make_discriminator = {};
};

// `options_from` makes absl::StatusOr<Options> of a NetworkConfig and a
// DataShape, and both networks are made of Options.
template <typename ThisGenerator, typename ThisDiscriminator,
          typename OptionsFrom>
NetworkFamily MakeFamily(NetworkFamily family, OptionsFrom options_from) {
  family.make_generator =
      [options_from](
          const NetworkConfig& config,
          const DataShape& data) -> absl::StatusOr<std::shared_ptr<Generator>> {
    GANDEM_ASSIGN_OR_RETURN(const auto options, options_from(config, data));
    return std::make_shared<ThisGenerator>(options);
  };
  family.make_discriminator = [options_from](const NetworkConfig& config,
                                             const DataShape& data)
      -> absl::StatusOr<std::shared_ptr<Discriminator>> {
    GANDEM_ASSIGN_OR_RETURN(const auto options, options_from(config, data));
    return std::make_shared<ThisDiscriminator>(options);
  };
  return family;
}

}  // namespace gandem
