// SPDX-License-Identifier: Apache-2.0
//
// The names that a generator's tensors have in published code, so that its
// class loads an exported state dict with strict=True and makes the same images
// (docs/export.md has which class with which arguments):
//
//   gandem        ours: torch.nn's names below the network's own modules
//   studiogan     PyTorch-StudioGAN: sndcgan, sngan, sagan, biggan
//   mimicry       mimicry's SNGAN without classes
//   examples      pytorch/examples, dcgan
//   pytorch_gan   PyTorch-GAN, its "gan"
//
// tests/oracles/reference_generators.py has these classes written anew.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/checkpoint/safetensors.h"
#include "common/config/data_shape.h"
#include "proto/config.pb.h"

namespace gandem {

// All that there are, "gandem" first.
std::vector<std::string> Namings();

// Renames the tensors of ExportState.
//   INVALID_ARGUMENT  there is no such naming, or its code has no class that
//                     makes the images of this network; lists every option of
//                     the network that is in the way.
absl::Status RenameTensors(const std::string& naming,
                           const NetworkConfig& network, const DataShape& data,
                           std::vector<NamedTensor>& tensors);

}  // namespace gandem
