// SPDX-License-Identifier: Apache-2.0
//
// User networks in Python, made by the program's NetworkHost.
#include <utility>

#include "common/check.h"
#include "models/families/family.h"
#include "models/families/network_host.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

NetworkHost& TheNetworkHost() {
  static NetworkHost& host = *new NetworkHost;
  return host;
}

}  // namespace

void SetNetworkHost(NetworkHost host) { TheNetworkHost() = std::move(host); }

bool HasNetworkHost() { return TheNetworkHost().make_generator != nullptr; }

NetworkFamily PythonFamily() {
  return {.name = "python",
          .make_generator =
              [](const NetworkConfig& config, const DataShape& data) {
                GANDEM_CHECK(HasNetworkHost());  // checked by the registry
                return TheNetworkHost().make_generator(config.python(), data);
              },
          .make_discriminator =
              [](const NetworkConfig& config, const DataShape& data) {
                GANDEM_CHECK(HasNetworkHost());
                return TheNetworkHost().make_discriminator(config.python(),
                                                           data);
              }};
}

}  // namespace gandem
