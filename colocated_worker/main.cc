// SPDX-License-Identifier: Apache-2.0
//
// Both roles in one process and one compute thread; see worker/worker_main.h.
#include "discriminator_worker/discriminator_role.h"
#include "generator_worker/generator_role.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  return gandem::WorkerMain(gandem::COLOCATED,
                            {.generator = gandem::MakeGeneratorRole,
                             .discriminator = gandem::DiscriminatorRoles()},
                            argc, argv);
}
