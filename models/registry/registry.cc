// SPDX-License-Identifier: Apache-2.0
#include "models/registry/registry.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/config/field_ranges.h"
#include "common/config/network_check.h"
#include "common/faults.h"
#include "common/status.h"
#include "models/families/network_host.h"
#include "models/own/own_networks.h"
#include "proto/config.pb.h"

namespace gandem {

// One line per family, in the order of NetworkConfig's fields. Mlp means the
// function MlpFamily of mlp.cc.
#define GANDEM_NETWORK_FAMILIES(FAMILY) \
  FAMILY(Mlp)                           \
  FAMILY(Dcgan)                         \
  FAMILY(Sndcgan)                       \
  FAMILY(Sngan)                         \
  FAMILY(KerasDcgan)                    \
  FAMILY(WganGp)                        \
  FAMILY(Pix2pix)                       \
  FAMILY(Sagan)                         \
  FAMILY(Biggan)                        \
  FAMILY(Dcgan5)                        \
  FAMILY(Python)

#define GANDEM_DECLARE_FAMILY(name) NetworkFamily name##Family();
GANDEM_NETWORK_FAMILIES(GANDEM_DECLARE_FAMILY)
#undef GANDEM_DECLARE_FAMILY

namespace {

const std::vector<NetworkFamily>& Families() {
  static const auto* const families = [] {
#define GANDEM_MAKE_FAMILY(name) name##Family(),
    auto* const all = new std::vector<NetworkFamily>{
        GANDEM_NETWORK_FAMILIES(GANDEM_MAKE_FAMILY)};
#undef GANDEM_MAKE_FAMILY
    std::ranges::copy(ExtraFamilies(), std::back_inserter(*all));
    return all;
  }();
  return *families;
}

absl::StatusOr<const NetworkFamily*> CheckedFamily(const NetworkConfig& config,
                                                   const DataShape& data) {
  Faults faults("models");
  CheckRanges("network.", config, faults);
  CheckNetwork("network", config, data, faults);
  if (!faults.empty()) return faults.ToStatus();
  if (config.has_python() && !HasNetworkHost()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "network.python '", config.python().name(), "' of '",
        config.python().module(),
        "' needs Python, and this program has none: docs/own_networks.md has "
        "the commands that run it"));
  }
  return FamilyOf(config);
}

}  // namespace

std::span<const NetworkFamily> AllFamilies() { return Families(); }

const NetworkFamily* FamilyOf(const NetworkConfig& config) {
  const auto* const field = FamilyFieldOf(config);
  if (field == nullptr || config.has_own()) return nullptr;
  for (const NetworkFamily& family : Families()) {
    if (family.name == field->name()) return &family;
  }
  GANDEM_CHECK(false);  // a message without a family
  return nullptr;
}

absl::StatusOr<std::shared_ptr<Generator>> MakeGenerator(
    const NetworkConfig& config, const DataShape& data) {
  GANDEM_ASSIGN_OR_RETURN(const NetworkFamily* const family,
                          CheckedFamily(config, data));
  if (config.has_own()) return MakeOwnGenerator(config.own(), data);
  return family->make_generator(config, data);
}

absl::StatusOr<std::shared_ptr<Discriminator>> MakeDiscriminator(
    const NetworkConfig& config, const DataShape& data) {
  GANDEM_ASSIGN_OR_RETURN(const NetworkFamily* const family,
                          CheckedFamily(config, data));
  if (config.has_own()) return MakeOwnDiscriminator(config.own(), data);
  return family->make_discriminator(config, data);
}

}  // namespace gandem
