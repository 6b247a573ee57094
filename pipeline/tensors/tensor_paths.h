// SPDX-License-Identifier: Apache-2.0
//
// Finds tensor shards and the files with their labels.
//
// Thread safety: pure functions, except for looking at files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/trees/location.h"

namespace gandem {

struct TensorPaths {
  std::string samples;
  std::string labels = {};  // an .npy; empty: none
};

// Returns whether the path or shard range ends in .safetensors or .npy, or is a
// folder with such files and no images.
bool LooksLikeTensors(const Location& at);

// Returns the shards: a file or URL, name-{00000..00004}.npy, or a folder's
// direct files sorted by name. Labels of a.npy are in a_labels.npy,
// a-labels.npy or a.labels.npy; labels of x-images-3.npy (or latents,
// waveforms, samples, data) are in x-labels-3.npy.
absl::StatusOr<std::vector<TensorPaths>> FindTensorPaths(const Location& at);

}  // namespace gandem
