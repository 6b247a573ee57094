// SPDX-License-Identifier: Apache-2.0
//
// The extension gandem._worker, which `python -m gandem.worker` runs: programs
// whose networks may be the user's.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

#include "common/config/role_name.h"
#include "discriminator_worker/discriminator_role.h"
#include "evaluation/commands/evaluation_main.h"
#include "generator_worker/generator_role.h"
#include "python_worker/python_network.h"
#include "worker/worker_main.h"

namespace gandem {
namespace {

// The main function of a role's binary, or of evaluation_job. Returns the exit
// code; raises ValueError where there is no such program.
int RunProgram(const std::string& program, std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(arguments.size());
  SetNetworkHost(PythonNetworkHost());
  if (program == "evaluation_job") {
    // The tracer's records of a user's network hold Python objects, so an
    // export keeps the interpreter's lock. Other commands may train a
    // classifier, and the threads of a backward pass take the lock themselves.
    const bool exports = argc > 1 && arguments[1] == "export";
    std::optional<pybind11::gil_scoped_release> unlocked;
    if (!exports) unlocked.emplace();
    return EvaluationMain(argc, argv.data());
  }
  for (const Role known : {GENERATOR, DISCRIMINATOR, COLOCATED}) {
    if (program != RoleName(known)) continue;
    RoleFactories factories;
    if (known != DISCRIMINATOR) factories.generator = MakeGeneratorRole;
    if (known != GENERATOR) factories.discriminator = DiscriminatorRoles();
    const pybind11::gil_scoped_release unlocked;
    return WorkerMain(known, std::move(factories), argc, argv.data());
  }
  throw pybind11::value_error(
      "there is no program '" + program +
      "': generator, discriminator, colocated or evaluation_job");
}

}  // namespace
}  // namespace gandem

PYBIND11_MODULE(_worker, module) {
  module.def("run_program", &gandem::RunProgram, pybind11::arg("program"),
             pybind11::arg("arguments"));
}
