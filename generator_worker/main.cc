// SPDX-License-Identifier: Apache-2.0
//
// The generator worker's binary; see training/worker_main.h.
#include "training/worker_main.h"

int main(int argc, char** argv) {
  return gandem::WorkerMain(gandem::GENERATOR, argc, argv);
}
