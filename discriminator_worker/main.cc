// SPDX-License-Identifier: Apache-2.0
//
// Binary of the discriminator worker; see worker/worker_main.h.
#include "discriminator_worker/discriminator_role.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  return gandem::WorkerMain(gandem::DISCRIMINATOR,
                            {.discriminator = gandem::DiscriminatorRoles()},
                            argc, argv);
}
