// SPDX-License-Identifier: Apache-2.0
//
// Your own worker program, with your networks in addition to gandem's:
//
//   int main(int argc, char** argv) {
//     return gandem::WorkerMain(
//         argc, argv,
//         {gandem::NetworksNamed<Generator, Discriminator>("tiny")});
//   }
//
// The first argument selects the program to run: generator_worker,
// discriminator_worker, colocated_worker or evaluation_job. `gandem` starts it
// this way if GANDEM_WORKER names it; gandem::ScalingManager sets that variable
// (docs/library.md).
//
// Owner: main(), which starts no thread before the call. Thread safety: once
// per process, on the main thread. Errors: the exit code (docs/design.md,
// section 8) and a line on standard error. The code is 2 for a duplicate or
// invalid name, and for a first argument that is not a program.
#pragma once

#include <vector>

#include "gandem/own_networks.h"

namespace gandem {

int WorkerMain(int argc, char** argv, std::vector<OwnNetworks> networks);

}  // namespace gandem
