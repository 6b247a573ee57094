// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files/nearest.h"
#include "common/process/exit_code.h"
#include "discriminator_worker/discriminator_role.h"
#include "evaluation/commands/evaluation_main.h"
#include "gandem/worker.h"
#include "generator_worker/generator_role.h"
#include "models/own/own_networks.h"
#include "worker/worker_main.h"

namespace gandem {
namespace {

struct OwnProgram {
  const char* name;
  int (*run)(int argc, char** argv);
};

constexpr OwnProgram kOwnPrograms[] = {
    {"generator_worker",
     [](int argc, char** argv) {
       return WorkerMain(GENERATOR, {.generator = MakeGeneratorRole}, argc,
                         argv);
     }},
    {"discriminator_worker",
     [](int argc, char** argv) {
       return WorkerMain(DISCRIMINATOR, {.discriminator = DiscriminatorRoles()},
                         argc, argv);
     }},
    {"colocated_worker",
     [](int argc, char** argv) {
       return WorkerMain(COLOCATED,
                         {.generator = MakeGeneratorRole,
                          .discriminator = DiscriminatorRoles()},
                         argc, argv);
     }},
    {"evaluation_job", EvaluationMain},
};

int Refuse(const char* program, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program, why.c_str());
  return kExitUsage;
}

std::string Usage(const std::string& name) {
  std::vector<std::string> names;
  for (const OwnProgram& program : kOwnPrograms) names.push_back(program.name);
  const std::string guess = DidYouMean(name, names);
  return absl::StrCat(
      name.empty() ? "no program is named"
                   : absl::StrCat("there is no program '", name, "'"),
      guess.empty() ? "" : "; ", guess, ". The first argument is one of ",
      absl::StrJoin(names, ", "),
      "; `gandem` passes it if GANDEM_WORKER names this program");
}

}  // namespace

int WorkerMain(int argc, char** argv, std::vector<OwnNetworks> networks) {
  const char* const self = argc > 0 ? argv[0] : "worker";
  const absl::Status named = SetOwnNetworks(std::move(networks));
  if (!named.ok()) return Refuse(self, std::string(named.message()));
  const std::string name = argc > 1 ? argv[1] : "";
  for (const OwnProgram& program : kOwnPrograms) {
    // argv of the program begins at its name.
    if (name == program.name) return program.run(argc - 1, argv + 1);
  }
  return Refuse(self, Usage(name));
}

}  // namespace gandem
