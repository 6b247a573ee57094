// SPDX-License-Identifier: Apache-2.0
//
// The ResNet of the SNGAN paper (Miyato et al. 2018, tables 4 and
// 5), with the options in which later code differs from the authors' own
// (models.md 2.1, 3.0, 3.4 to 3.6). In multiples of the width:
//
//   pixels  G, from 4x4 (48: from 6x6)   D, halving but for the last block(s)
//   32      4, 4, 4, 4                   2, 2, 2, 2 (two do not halve)
//   48      8, 4, 2, 1                   1, 2, 4, 8, 16
//   64      16, 8, 4, 2, 1               1, 2, 4, 8, 16
//   128     16, 16, 8, 4, 2, 1           1, 2, 4, 8, 16, 16
//
//   G: linear, blocks, batch norm, ReLU, conv3x3, tanh
//   D: blocks, ReLU, sum or mean over pixels, linear
//
// WGAN-GP's ResNets for CIFAR-10 (Gulrajani et al. 2017) are this family too:
// a generator of width 32, and a discriminator with norm: NONE and pool: MEAN.
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: INVALID_ARGUMENT where options do not fit each other.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily SnganFamily();

}  // namespace gandem
