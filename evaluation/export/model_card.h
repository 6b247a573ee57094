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
  std::string family = {};  // name in the recipe, "dcgan"
  std::string file = {};    // name of the exported file
  // Lines of Python that load the file.
  std::string usage = {};
  bool is_average = true;   // false: weights of the last step
  bool translates = false;  // takes images as input
  int64_t step = 0;         // rounds completed
  int64_t rounds = 0;       // rounds of the whole run
  int64_t real_images = 0;  // seen by the discriminator
  int64_t noise_dim = 0;    // 0: takes no noise
  int64_t num_classes = 0;  // 0: takes no labels
  int64_t num_parameters = 0;
  ImageShape image = {};
  std::string recipe = {};
  std::vector<MetricCard> cards = {};  // cards of this checkpoint
  std::string grid = {};               // name of the image file, or empty
};

std::string ModelCardText(const ModelCardFacts& facts);

// Whether gandem wrote `text`, rather than the user.
bool IsModelCard(const std::string& text);

}  // namespace gandem
