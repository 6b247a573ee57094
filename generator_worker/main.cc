// SPDX-License-Identifier: Apache-2.0
//
// The generator worker's binary; see worker/worker_main.h.
#include "generator_worker/generator_role.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  return gandem::WorkerMain(
      gandem::GENERATOR, {.generator = gandem::MakeGeneratorRole}, argc, argv);
}
