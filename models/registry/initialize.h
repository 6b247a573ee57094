// SPDX-License-Identifier: Apache-2.0
//
// Draws the initial values of a network's parameters and spectral-norm vectors,
// which depend only on the seed, the role and the tensor's place (keyed draws,
// design.md section 5). With n the number of the tensor among all tensors that
// are drawn or set, parameters and spectral-norm vectors in registration order,
// row i of a generator's tensor comes from the stream (seed, kInit, n, i), of a
// discriminator's from (seed, kInit, 2^32 + n, i).
//
// The family chooses the distribution (WeightInit in family.h). Fans treat a
// weight as [size(0), rest]; orthogonal means orthonormal rows or columns of
// that matrix. Biases are 0 unless stated otherwise; normalization starts with
// weight 1 and bias 0. A one-dimensional weight belongs to normalization.
//
// Spectral norm's u and v are random unit vectors, iterated 15 times as in
// torch.nn.utils.parametrizations: with lag >= 1 the first critic is the frozen
// phi_0, whose gradients would otherwise be wrong by orders of magnitude. Batch
// norm's running mean and variance are 0 and 1. Dropout's mask_key, the
// noise_key and noise_const of noise inputs, and the mixing_key of mixed styles
// are drawn and count as tensors.
//
// User networks keep the values of their constructor, which LibTorch draws with
// a seed from (seed, kInit, n, 0), where n is the number of the first tensor.
//
// Thread safety: one thread per network. Errors: Torch exceptions.
#pragma once

#include <cstdint>

#include "models/network.h"

namespace gandem {

class NetworkConfig;  // proto/config.proto

// `config` must be the config that the network was made from. Draws are double,
// so that float32 and float64 networks get equal values up to rounding.
void InitializeParameters(Generator& generator, const NetworkConfig& config,
                          uint64_t seed);
void InitializeParameters(Discriminator& discriminator,
                          const NetworkConfig& config, uint64_t seed);

}  // namespace gandem
