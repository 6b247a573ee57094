// SPDX-License-Identifier: Apache-2.0
//
// DCGANs with kernels of 5x5, which halve or double with stride 2 between 4x4
// and the image (models.md 3.9 and 3.11; w is the width):
//
//   RADFORD (Radford et al. 2016, the authors' code): batch norm in both, over
//     each feature of G's first layer by itself; no biases
//   WGAN_GP (Gulrajani et al. 2017, "DCGAN" in the authors' code)
//     64x64: batch norm in G, layer norm in D
//     32x32: the same without norm in D; G's first layer as RADFORD's
//     28x28: without norms; G's 8x8 is cropped to 7x7
//
//   G: linear, 8w@4 (64x64; 4w@4 below), ReLU, ... w, tanh
//   D: w, LeakyReLU, 2w ... (no norm after the first), linear over all features
//
// Convolutions are padded alike on all sides. Noise is normal, where Radford's
// was uniform.
//
// Owner: the caller. Thread safety: one compute thread. Errors: none.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily Dcgan5Family();

}  // namespace gandem
