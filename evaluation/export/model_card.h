// SPDX-License-Identifier: Apache-2.0
//
// The model card of an exported generator: Markdown below YAML front matter,
// the layout of README.md that model hubs read.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/image_shape.h"
#include "proto/evaluation.pb.h"

namespace gandem {

struct ModelCardFacts {
  std::string family = {};  // of the network, as in the recipe
  std::string file = {};    // name of the exported file
  // How Python loads it; several lines of code.
  std::string usage = {};
  bool is_average = true;   // of the weights; else the last step's
  bool translates = false;  // makes images of images
  int64_t step = 0;         // rounds completed
  int64_t rounds = 0;       // of the whole run
  int64_t real_images = 0;  // that the discriminator has seen
  int64_t noise_dim = 0;    // 0: none
  int64_t num_classes = 0;  // 0: none
  int64_t num_parameters = 0;
  ImageShape image = {};
  std::string recipe = {};             // text
  std::vector<MetricCard> cards = {};  // of this checkpoint
  std::string grid = {};               // name of the file; empty: none
};

std::string ModelCardText(const ModelCardFacts& facts);

// Whether a file with this text is such a card, and not somebody's own.
bool IsModelCard(const std::string& text);

}  // namespace gandem
