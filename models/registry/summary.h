// SPDX-License-Identifier: Apache-2.0
//
// Lists the layers of a network and the cost of one image by tracing the
// operators of an evaluating pass. A layer appears where it runs.
//
//   multiply-adds  of convolutions, fully connected layers and batched matrix
//                  products (attention), without norms, activations and the
//                  products of spectral norm. FLOPs are twice that.
//   activations    outputs of the layers below at 4 bytes per value: the memory
//                  that training keeps for the backward pass, except additions
//                  by some activations and residual sums
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/data_shape.h"
#include "models/network.h"

namespace gandem {

struct LayerSummary {
  std::string name = {};                   // name of the module
  std::string kind = {};                   // "conv2d", "batch_norm" ...
  std::vector<int64_t> output_shape = {};  // without the batch
  int64_t parameters = 0;
  int64_t buffers = 0;  // values
  int64_t multiply_adds = 0;
};

struct NetworkSummary {
  // Layers in the order in which they run, then the remaining parameters
  // ("parameters"), which no layer's operator uses.
  std::vector<LayerSummary> layers = {};
  int64_t parameters = 0;  // of the whole network
  int64_t buffers = 0;
  int64_t multiply_adds = 0;
  int64_t activation_bytes = 0;
};

// `data` is the shape that the network was made for. Changes no state. A
// network without values (shapes_only.h) suffices and costs nothing.
NetworkSummary Summarize(Generator& generator, const DataShape& data);
NetworkSummary Summarize(Discriminator& discriminator, const DataShape& data);

}  // namespace gandem
