// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/launch/worker_program.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/process/binary_folder.h"

namespace gandem {
namespace {

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "build/bin" -> "build/python", which the build has made.
std::string PackageFolder(const std::string& binary_folder) {
  return binary_folder.substr(0, binary_folder.rfind('/')) + "/python";
}

// The first field that needs Python; empty: none.
std::string OwnNetworkOf(const RunConfig& config) {
  if (config.generator().network().has_python()) {
    return "generator.network.python";
  }
  return config.discriminator().network().has_python()
             ? "discriminator.network.python"
             : "";
}

}  // namespace

absl::StatusOr<WorkerProgram> FindWorkerProgram(const RunConfig& config,
                                                std::string binary_folder,
                                                const std::string& python) {
  const std::string field = OwnNetworkOf(config);
  if (field.empty()) return WorkerProgram{std::move(binary_folder), ""};
  const std::string package = PackageFolder(binary_folder);
  if (!PathExists(package + "/gandem/worker.py")) {
    return absl::FailedPreconditionError(absl::StrCat(
        field, ": this gandem was built without workers inside Python ('",
        package, "/gandem' is missing): build it with `scripts/build.sh ",
        "--python` (docs/own_networks.md)"));
  }
  const std::string environment = FromEnvironment("VIRTUAL_ENV");
  if (python.empty() && environment.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " runs in an interpreter that has torch: activate ",
                     "its virtual environment, or name it with --python"));
  }
  const std::string path =
      python.empty() ? environment + "/bin/python" : python;
  if (!IsProgram(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(python.empty() ? "$VIRTUAL_ENV" : "--python", ": '", path,
                     "' cannot be executed"));
  }
  return WorkerProgram{std::move(binary_folder), path};
}

absl::StatusOr<std::vector<std::string>> WorkerCommand(
    const WorkerProgram& program, Role role) {
  if (program.python.empty()) {
    return ProgramCommand(program.binary_folder, WorkerBinary(role));
  }
  const std::string others = FromEnvironment("PYTHONPATH");
  return std::vector<std::string>{
      "/usr/bin/env",
      absl::StrCat("PYTHONPATH=", PackageFolder(program.binary_folder),
                   others.empty() ? "" : ":", others),
      program.python,
      "-m",
      "gandem.worker",
      RoleName(role)};
}

std::string WorkerBinary(Role role) {
  return absl::StrCat(RoleName(role), "_worker");
}

}  // namespace gandem
