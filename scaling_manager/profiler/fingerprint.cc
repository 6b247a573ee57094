// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/fingerprint.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/config/optimizer_validate.h"
#include "common/config/run_config.h"
#include "common/process/machine.h"
#include "common/programs/own_networks.h"
#include "common/version.h"

namespace gandem {
namespace {

// Relative tolerance for total memory, which changes a little at every boot.
constexpr double kSameMemory = 0.02;

void KeepKind(const OptimizerConfig& optimizer, OptimizerConfig& kind) {
  const auto* const family = FamilyFieldOf(optimizer);
  if (family != nullptr) kind.GetReflection()->MutableMessage(&kind, family);
  // Optimism is left out: a plan sets it, and it is a small part of an update.
  if (optimizer.lookahead().period() > 0) {
    kind.mutable_lookahead()->set_period(1);
  }
}

RoleConfig NetworkAlone(const RoleConfig& role) {
  RoleConfig alone;
  *alone.mutable_network() = role.network();
  alone.set_device(role.device());
  alone.set_recompute_blocks(role.recompute_blocks());
  *alone.mutable_freeze() = role.freeze();
  KeepKind(role.optimizer(), *alone.mutable_optimizer());
  return alone;
}

// Identifies network files by their content, wherever they are stored. An
// unreadable file is reported later, by the code that needs it.
void KnowByContent(RunConfig& networks) {
  KnowOwnNetworks(networks).IgnoreError();
  for (RoleConfig* const role :
       {networks.mutable_generator(), networks.mutable_discriminator()}) {
    if (!role->network().has_python()) continue;
    PythonConfig& network = *role->mutable_network()->mutable_python();
    if (!network.sha256().empty()) network.clear_module();
  }
}

std::string GiB(int64_t bytes) {
  return absl::StrFormat("%.1f GiB",
                         static_cast<double>(bytes) / (int64_t{1} << 30));
}

bool HasSameMemory(int64_t one, int64_t other) {
  return std::abs(static_cast<double>(one - other)) <=
         kSameMemory * static_cast<double>(other);
}

}  // namespace

uint64_t NetworksHash(const RunConfig& recipe) {
  const DataShape shape = DataShapeOf(recipe.data());
  RunConfig networks;
  DataConfig& data = *networks.mutable_data();
  data.set_image_size(shape.image.height);
  data.set_channels(shape.image.channels);
  data.set_num_classes(shape.num_classes);
  if (HasPairs(recipe.data())) data.set_inputs("pairs");
  *networks.mutable_generator() = NetworkAlone(recipe.generator());
  *networks.mutable_discriminator() = NetworkAlone(recipe.discriminator());
  networks.set_loss(recipe.loss());
  *networks.mutable_class_loss() = recipe.class_loss();
  *networks.mutable_penalties() = recipe.penalties();
  *networks.mutable_augmentation() = recipe.augmentation();
  *networks.mutable_paired_loss() = recipe.paired_loss();
  KnowByContent(networks);
  return ConfigHash(networks);
}

ProfileFingerprint FingerprintHere(const RunConfig& recipe) {
  ProfileFingerprint here;
  here.set_machine(MachineName());
  here.set_cores(UsableCores());
  here.set_memory_bytes(TotalMemory());
  here.set_networks(NetworksHash(recipe));
  here.set_release(std::string(GandemVersion()));
  here.set_torch_version(GANDEM_TORCH_VERSION);
  return here;
}

absl::Status CheckProfileHolds(const Profile& profile,
                               const ProfileFingerprint& here) {
  const ProfileFingerprint& there = profile.fingerprint();
  std::vector<std::string> differences;
  const auto compare = [&](absl::string_view what, const auto& of_profile,
                           const auto& of_this) {
    if (of_profile == of_this) return;
    differences.push_back(absl::StrCat(what, " '", of_profile,
                                       "', and this one is '", of_this, "'"));
  };
  if (there.networks() != here.networks()) {
    differences.push_back(
        absl::StrCat("another model: the networks, images, losses, penalties "
                     "or devices of '",
                     profile.recipe().name(), "' as it was then"));
  }
  compare("another machine: processor", there.machine(), here.machine());
  compare("another machine: cores", there.cores(), here.cores());
  if (!HasSameMemory(there.memory_bytes(), here.memory_bytes())) {
    compare("another machine: memory", GiB(there.memory_bytes()),
            GiB(here.memory_bytes()));
  }
  compare("another version: gandem", there.release(), here.release());
  compare("another version: LibTorch", there.torch_version(),
          here.torch_version());
  if (differences.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the profile is of ", absl::StrJoin(differences, "; of "),
      ": measure again, into another file (`gandem profile RECIPE -o FILE`)"));
}

}  // namespace gandem
