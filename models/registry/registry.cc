// SPDX-License-Identifier: Apache-2.0
#include "models/registry/registry.h"

#include <array>

#include "common/check.h"
#include "common/config/network_check.h"
#include "common/faults.h"
#include "common/status.h"
#include "models/families/families.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

const auto& Families() {
#define GANDEM_MAKE_FAMILY(name) name##Family(),
  static const std::array families = {
      GANDEM_NETWORK_FAMILIES(GANDEM_MAKE_FAMILY)};
#undef GANDEM_MAKE_FAMILY
  return families;
}

absl::StatusOr<const NetworkFamily*> CheckedFamily(const NetworkConfig& config,
                                                   const DataShape& data) {
  Faults faults("models");
  CheckNetwork("network", config, data, faults);
  if (!faults.empty()) return faults.ToStatus();
  return FamilyOf(config);
}

}  // namespace

std::span<const NetworkFamily> AllFamilies() { return Families(); }

const NetworkFamily* FamilyOf(const NetworkConfig& config) {
  const auto* const field = FamilyFieldOf(config);
  if (field == nullptr) return nullptr;
  for (const NetworkFamily& family : Families()) {
    if (family.name == field->name()) return &family;
  }
  GANDEM_CHECK(false);  // a message without a line in families.h
  return nullptr;
}

absl::StatusOr<std::shared_ptr<Generator>> MakeGenerator(
    const NetworkConfig& config, const DataShape& data) {
  GANDEM_ASSIGN_OR_RETURN(const NetworkFamily* const family,
                          CheckedFamily(config, data));
  return family->make_generator(config, data);
}

absl::StatusOr<std::shared_ptr<Discriminator>> MakeDiscriminator(
    const NetworkConfig& config, const DataShape& data) {
  GANDEM_ASSIGN_OR_RETURN(const NetworkFamily* const family,
                          CheckedFamily(config, data));
  return family->make_discriminator(config, data);
}

}  // namespace gandem
