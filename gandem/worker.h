// SPDX-License-Identifier: Apache-2.0
//
// A worker program of your own, which knows your networks beside gandem's:
//
//   int main(int argc, char** argv) {
//     return gandem::WorkerMain(
//         argc, argv,
//         {gandem::NetworksNamed<Generator, Discriminator>("tiny")});
//   }
//
// It is all of gandem's programs that compute, by its first argument:
// generator_worker, discriminator_worker, colocated_worker and evaluation_job.
// `gandem` starts it so where GANDEM_WORKER names it, and
// gandem::ScalingManager does it for you (docs/library.md).
//
// Owner: main(), which starts no thread before it. Thread safety: once a
// process, on its main thread. Errors: the exit code (docs/design.md, section
// 8), and a line on standard error: 2 for a name that stands twice or is none,
// and for a first argument that is no program.
#pragma once

#include <vector>

#include "gandem/own_networks.h"

namespace gandem {

int WorkerMain(int argc, char** argv, std::vector<OwnNetworks> networks);

}  // namespace gandem
