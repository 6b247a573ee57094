// SPDX-License-Identifier: Apache-2.0
//
// Binary of the generator worker; see worker/worker_main.h.
#include "generator_worker/generator_role.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  return gandem::WorkerMain(
      gandem::GENERATOR, {.generator = gandem::MakeGeneratorRole}, argc, argv);
}
