// SPDX-License-Identifier: Apache-2.0
//
// Factory of networks of the family `python`, which keeps models/ independent
// of Python. Programs with a Python interpreter set it once (python_worker/);
// other programs cannot make such networks.
//
// Owner: the program. Thread safety: set before networks are made, from one
// thread, and then constant. Errors: Torch exceptions.
#pragma once

#include <functional>
#include <memory>

#include "common/config/data_shape.h"
#include "models/network.h"

namespace gandem {

class PythonConfig;  // proto/config.proto

struct NetworkHost {
  std::function<std::shared_ptr<Generator>(const PythonConfig&,
                                           const DataShape&)>
      make_generator = {};
  std::function<std::shared_ptr<Discriminator>(const PythonConfig&,
                                               const DataShape&)>
      make_discriminator = {};
};

void SetNetworkHost(NetworkHost host);
bool HasNetworkHost();

}  // namespace gandem
