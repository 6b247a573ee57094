// SPDX-License-Identifier: Apache-2.0
#include "common/programs/worker_program.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/child_process.h"
#include "common/process/exit_code.h"
#include "common/status.h"

namespace gandem {
namespace {

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the package folder of the build: "build/bin" -> "build/python".
std::string PackageFolder(const std::string& binary_folder) {
  return binary_folder.substr(0, binary_folder.rfind('/')) + "/python";
}

constexpr char kEvaluationJob[] = "evaluation_job";
// Time limit for the start of an interpreter, which takes 90 ms of CPU.
constexpr absl::Duration kInterpreterStartTime = absl::Seconds(60);
constexpr size_t kShownOutputBytes = 1000;

// Returns the command that runs `name` inside gandem.worker. Programs that it
// starts lie beside this binary, not beside the interpreter.
std::vector<std::string> InsidePython(const WorkerProgram& program,
                                      const std::string& name) {
  const std::string others = FromEnvironment("PYTHONPATH");
  return {"/usr/bin/env",
          absl::StrCat("PYTHONPATH=", PackageFolder(program.binary_folder),
                       others.empty() ? "" : ":", others),
          absl::StrCat(kBinaryFolderVariable, "=", program.binary_folder),
          absl::StrCat(kInterpreterVariable, "=", program.python),
          program.python,
          "-m",
          "gandem.worker",
          name};
}

// Starts the interpreter without Torch, to find a broken environment.
absl::Status CheckInterpreter(const WorkerProgram& program) {
  const absl::StatusOr<ProcessOutput> output =
      RunToEnd({.arguments = InsidePython(program, "--help")},
               MonotonicNow() + kInterpreterStartTime);
  if (output.ok() && output->end.exit_code == kExitOk) return absl::OkStatus();
  std::string why = absl::StrCat("the interpreter '", program.python,
                                 "' does not start gandem.worker: ");
  if (output.ok()) {
    const std::string& text = output->text;
    absl::StrAppend(
        &why, "it ", output->end.description, " and printed\n",
        absl::StripAsciiWhitespace(text.substr(
            text.size() - std::min(text.size(), kShownOutputBytes))),
        "\n");
  } else {
    absl::StrAppend(&why, output.status().message(), ". ");
  }
  for (const char* const name : {"PYTHONHOME", "PYTHONPATH"}) {
    const std::string value = FromEnvironment(name);
    if (value.empty()) continue;
    absl::StrAppend(&why, name, " is '", value, "': unset it",
                    absl::string_view(name) == "PYTHONPATH"
                        ? ", or rename files there that have the name of a "
                          "module of Python, such as types.py. "
                        : ". ");
  }
  return absl::FailedPreconditionError(absl::StripAsciiWhitespace(why));
}

// Returns the value of --python in either notation, or "".
std::string PythonOf(const std::vector<std::string>& arguments) {
  constexpr char kFlag[] = "--python";
  std::string python;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view value = arguments[i];
    if (value == kFlag && i + 1 < arguments.size()) python = arguments[i + 1];
    if (absl::ConsumePrefix(&value, absl::StrCat(kFlag, "="))) {
      python = std::string(value);
    }
  }
  return python;
}

// Returns the config whose networks `command` runs because of `argument`: a
// run's or checkpoint's folder, or for `gandem models` a recipe (others use
// only its images). Leaves invalid files to evaluation_job.
RunConfig ConfigNamedBy(const std::string& command,
                        const std::string& argument) {
  const size_t equals = argument.find('=');
  const std::string path =
      absl::StartsWith(argument, "--") && equals != std::string::npos
          ? argument.substr(equals + 1)
          : argument;
  const std::string file =
      command == "models" ? path : path + "/config.textproto";
  RunConfig config;
  const auto text = ReadFile(file, kMaxTextProtoBytes);
  if (!text.ok() || !ParseTextProto(*text, file, config).ok()) return {};
  return config;
}

}  // namespace

std::string OwnNetworkOf(const RunConfig& config) {
  if (config.generator().network().has_python()) {
    return "generator.network.python";
  }
  return config.discriminator().network().has_python()
             ? "discriminator.network.python"
             : "";
}

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
  WorkerProgram program = {std::move(binary_folder), path};
  GANDEM_RETURN_IF_ERROR(CheckInterpreter(program));
  return program;
}

absl::StatusOr<std::vector<std::string>> WorkerCommand(
    const WorkerProgram& program, Role role) {
  if (program.python.empty()) {
    return ProgramCommand(program.binary_folder, WorkerBinary(role));
  }
  return InsidePython(program, RoleName(role));
}

absl::StatusOr<std::vector<std::string>> EvaluationCommand(
    std::string binary_folder, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const RunConfig config = ConfigNamedBy(arguments.front(), argument);
    if (OwnNetworkOf(config).empty()) continue;
    GANDEM_ASSIGN_OR_RETURN(const WorkerProgram program,
                            FindWorkerProgram(config, std::move(binary_folder),
                                              PythonOf(arguments)));
    return InsidePython(program, kEvaluationJob);
  }
  return ProgramCommand(binary_folder, kEvaluationJob);
}

std::string WorkerBinary(Role role) {
  return absl::StrCat(RoleName(role), "_worker");
}

}  // namespace gandem
