// SPDX-License-Identifier: Apache-2.0
#include "common/programs/own_networks.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/files/sha256.h"
#include "common/status.h"

namespace gandem {
namespace {

absl::Status KnowFile(const std::string& field, PythonConfig& network) {
  if (network.module().empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> sha256 = Sha256OfFile(network.module());
  if (!sha256.ok()) return Annotate(sha256.status(), field + ".module");
  if (!network.sha256().empty() && network.sha256() != *sha256) {
    return absl::InvalidArgumentError(absl::StrCat(
        field, ".sha256 is ", network.sha256(), ", and that of '",
        network.module(), "' is ", *sha256,
        ": it is another file, or has been changed; leave sha256 out to take "
        "it as it is"));
  }
  network.set_sha256(*sha256);
  std::error_code error;
  const auto path = std::filesystem::absolute(network.module(), error);
  if (!error) network.set_module(path.lexically_normal().string());
  return absl::OkStatus();
}

bool BothAreOwn(const RoleConfig& saved, const RoleConfig& now) {
  return saved.network().has_python() && now.network().has_python();
}

void TakeMovedFile(const PythonConfig& now, bool accept_changed_code,
                   PythonConfig& saved) {
  if (accept_changed_code) saved.set_sha256(now.sha256());
  if (saved.sha256() == now.sha256()) saved.set_module(now.module());
}

bool FileHasChanged(const RoleConfig& saved, const RoleConfig& now) {
  return BothAreOwn(saved, now) &&
         saved.network().python().sha256() != now.network().python().sha256();
}

}  // namespace

absl::Status KnowOwnNetworks(RunConfig& config) {
  if (config.generator().network().has_python()) {
    GANDEM_RETURN_IF_ERROR(KnowFile(
        "generator.network.python",
        *config.mutable_generator()->mutable_network()->mutable_python()));
  }
  if (!config.discriminator().network().has_python()) return absl::OkStatus();
  return KnowFile(
      "discriminator.network.python",
      *config.mutable_discriminator()->mutable_network()->mutable_python());
}

void TakeMovedCode(const RunConfig& config, bool accept_changed_code,
                   RunConfig& saved) {
  if (BothAreOwn(saved.generator(), config.generator())) {
    TakeMovedFile(
        config.generator().network().python(), accept_changed_code,
        *saved.mutable_generator()->mutable_network()->mutable_python());
  }
  if (BothAreOwn(saved.discriminator(), config.discriminator())) {
    TakeMovedFile(
        config.discriminator().network().python(), accept_changed_code,
        *saved.mutable_discriminator()->mutable_network()->mutable_python());
  }
}

bool CodeHasChanged(const RunConfig& saved, const RunConfig& config) {
  return FileHasChanged(saved.generator(), config.generator()) ||
         FileHasChanged(saved.discriminator(), config.discriminator());
}

}  // namespace gandem
