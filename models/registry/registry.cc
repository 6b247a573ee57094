// SPDX-License-Identifier: Apache-2.0
#include "models/registry/registry.h"

#include <array>

#include "common/check.h"
#include "common/config/network_check.h"
#include "common/faults.h"
#include "common/status.h"
#include "models/families/biggan.h"
#include "models/families/dcgan.h"
#include "models/families/dcgan5.h"
#include "models/families/keras_dcgan.h"
#include "models/families/mlp.h"
#include "models/families/pix2pix.h"
#include "models/families/sagan.h"
#include "models/families/sndcgan.h"
#include "models/families/sngan.h"
#include "models/families/wgan_gp.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// One line a family (docs/extending.md).
const auto& Families() {
  static const std::array families = {
      MlpFamily(),         //
      DcganFamily(),       //
      SndcganFamily(),     //
      SnganFamily(),       //
      KerasDcganFamily(),  //
      WganGpFamily(),      //
      Pix2pixFamily(),     //
      SaganFamily(),       //
      BigganFamily(),      //
      Dcgan5Family(),      //
  };
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
  GANDEM_CHECK(false);  // a message without a line in Families()
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
