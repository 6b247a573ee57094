// SPDX-License-Identifier: Apache-2.0
//
// First values of a network's parameters and spectral-norm vectors. They depend
// on the seed, the role and the tensor's place only, by keyed draws
// (design.md section 5): with n the number of the tensor among those that are
// drawn or set, parameters and spectral-norm vectors in registration order, row
// i of a generator's tensor comes from the stream (seed, kInit, n, i), and of a
// discriminator's from (seed, kInit, 2^32 + n, i).
//
//   mlp             PyTorch's default: uniform in +-1/sqrt(fan in), biases too
//   dcgan           N(0, 0.02); batch norm's weight N(1, 0.02), bias 0
//   sndcgan, sngan  orthogonal; batch norm's weight 1; biases 0
//
// Spectral norm's u and v are random unit vectors, then iterated 15 times as in
// torch.nn.utils.parametrizations: where lag >= 1 the first critic is phi_0,
// frozen, and with random vectors its gradients are off by orders of magnitude.
// Batch norm's running mean and variance are 0 and 1.
//
// Thread safety: one thread per network. Errors: Torch exceptions.
#pragma once

#include <cstdint>

#include "models/network.h"

namespace gandem {

class NetworkConfig;  // proto/config.proto

// `config` is what the registry made the network from. Draws are in double, so
// float32 and float64 networks get the same values but for rounding.
void InitializeParameters(Generator& generator, const NetworkConfig& config,
                          uint64_t seed);
void InitializeParameters(Discriminator& discriminator,
                          const NetworkConfig& config, uint64_t seed);

}  // namespace gandem
