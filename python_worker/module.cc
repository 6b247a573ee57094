// SPDX-License-Identifier: Apache-2.0
//
// Extension of `python -m gandem.worker`: programs with users' networks.
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

// Runs a role's worker or evaluation_job. Returns the exit code; raises
// ValueError for an unknown program.
int RunProgram(const std::string& program, std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(arguments.size());
  SetNetworkHost(PythonNetworkHost());
  if (program == "evaluation_job") {
    // An export keeps the interpreter's lock, because the tracer's records of a
    // user's network hold Python objects. Other commands may train a
    // classifier, whose backward threads take the lock themselves.
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
