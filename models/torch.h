// SPDX-License-Identifier: Apache-2.0
//
// The part of LibTorch that most sources of gandem use, precompiled once: a
// third of torch/torch.h, which costs every file 4 s more. A file that needs
// the rest (torch::nn layers, torch::optim, TorchScript) includes it.
#pragma once

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/nn/module.h>
#include <torch/types.h>
