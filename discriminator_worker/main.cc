// SPDX-License-Identifier: Apache-2.0
//
// The discriminator worker's binary; see training/worker_main.h.
#include "training/worker_main.h"

int main(int argc, char** argv) {
  return gandem::WorkerMain(gandem::DISCRIMINATOR, argc, argv);
}
