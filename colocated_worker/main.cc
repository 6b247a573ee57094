// SPDX-License-Identifier: Apache-2.0
//
// Both roles in one process and one compute thread; see training/worker_main.h.
#include "training/worker_main.h"

int main(int argc, char** argv) {
  return gandem::WorkerMain(gandem::COLOCATED, argc, argv);
}
