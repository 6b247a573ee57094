// SPDX-License-Identifier: Apache-2.0
//
// Precompiled part of LibTorch that most sources use, a third of torch/torch.h,
// which would add 4 s to every file. Files that need the rest (torch::nn
// layers, torch::optim, TorchScript) include it themselves.
#pragma once

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/nn/module.h>
#include <torch/types.h>
