// SPDX-License-Identifier: Apache-2.0
//
// The extension gandem._worker, which `python -m gandem.worker` runs.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "common/config/role_name.h"
#include "discriminator_worker/discriminator_role.h"
#include "generator_worker/generator_role.h"
#include "python_worker/python_network.h"
#include "worker/worker_main.h"

namespace gandem {
namespace {

// The main function of a role's binary. Returns the exit code; raises
// ValueError where there is no such role.
int RunRole(const std::string& role, std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(arguments.size());
  for (const Role known : {GENERATOR, DISCRIMINATOR, COLOCATED}) {
    if (role != RoleName(known)) continue;
    RoleFactories factories;
    if (known != DISCRIMINATOR) factories.generator = MakeGeneratorRole;
    if (known != GENERATOR) factories.discriminator = DiscriminatorRoles();
    SetNetworkHost(PythonNetworkHost());
    const pybind11::gil_scoped_release unlocked;
    return WorkerMain(known, std::move(factories), argc, argv.data());
  }
  throw pybind11::value_error("there is no role '" + role +
                              "': generator, discriminator or colocated");
}

}  // namespace
}  // namespace gandem

PYBIND11_MODULE(_worker, module) {
  module.def("run_role", &gandem::RunRole, pybind11::arg("role"),
             pybind11::arg("arguments"));
}
