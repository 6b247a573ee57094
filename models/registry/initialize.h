// SPDX-License-Identifier: Apache-2.0
//
// First values of a network's parameters and spectral-norm vectors. They depend
// on the seed, the role and the tensor's place only, by keyed draws
// (design.md section 5): with n the number of the tensor among those that are
// drawn or set, parameters and spectral-norm vectors in registration order, row
// i of a generator's tensor comes from the stream (seed, kInit, n, i), and of a
// discriminator's from (seed, kInit, 2^32 + n, i).
//
// The family chooses the values (WeightInit in family.h): fans count a weight
// as [size(0), rest], orthogonal means orthonormal rows or columns of that
// matrix, biases are 0 unless said, normalization starts with weight 1 and bias
// 0. A one-dimensional weight belongs to normalization.
//
// Spectral norm's u and v are random unit vectors, then iterated 15 times as in
// torch.nn.utils.parametrizations: where lag >= 1 the first critic is phi_0,
// frozen, and with random vectors its gradients are off by orders of magnitude.
// Batch norm's running mean and variance are 0 and 1. Dropout's mask_key,
// the noise_key and noise_const of noise inputs, and the mixing_key of mixed
// styles are drawn and count among the tensors.
//
// Networks of the user's own have the values of their constructor, whose draws
// are LibTorch's from a seed of (seed, kInit, n, 0), n that of the first
// tensor.
//
// Thread safety: one thread per network. Errors: Torch exceptions.
#pragma once

#include <cstdint>

#include "models/network.h"

namespace gandem {

class NetworkConfig;  // proto/config.proto

// `config` is the config that the registry made the network from. Draws are in
// double, so float32 and float64 networks get the same values up to rounding.
void InitializeParameters(Generator& generator, const NetworkConfig& config,
                          uint64_t seed);
void InitializeParameters(Discriminator& discriminator,
                          const NetworkConfig& config, uint64_t seed);

}  // namespace gandem
