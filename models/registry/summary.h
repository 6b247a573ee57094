// SPDX-License-Identifier: Apache-2.0
//
// The layers of a network and the cost of one image, found by watching the
// operators of an evaluating pass over one image. A layer appears where it
// runs.
//
//   multiply-adds  of convolutions, fully connected layers and products of
//                  batches of matrices (attention), and nothing else: norms,
//                  activations and spectral norm's own products are not
//                  counted. FLOPs are twice that.
//   activations    outputs of the layers below, 4 bytes a value: the memory
//                  that training keeps for its backward pass, except what
//                  some activations and residual sums add
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
  std::string name = {};                   // of the module
  std::string kind = {};                   // "conv2d", "batch_norm" ...
  std::vector<int64_t> output_shape = {};  // without the batch
  int64_t parameters = 0;
  int64_t buffers = 0;  // values
  int64_t multiply_adds = 0;
};

struct NetworkSummary {
  // Layers in the order in which they run, then the rest ("parameters"), which
  // no operator of a layer works with.
  std::vector<LayerSummary> layers = {};
  int64_t parameters = 0;  // of the whole network
  int64_t buffers = 0;
  int64_t multiply_adds = 0;
  int64_t activation_bytes = 0;
};

// `data` is what the network was made for. Changes no state. A network without
// values (shapes_only.h) is enough, and costs nothing.
NetworkSummary Summarize(Generator& generator, const DataShape& data);
NetworkSummary Summarize(Discriminator& discriminator, const DataShape& data);

}  // namespace gandem
