// SPDX-License-Identifier: Apache-2.0
//
// Paths of tensor shards and of the files with their labels.
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
  std::string labels = {};  // an .npy; empty: there is none beside it
};

// Whether a name, also of shards, ends in .safetensors or .npy, or a folder has
// such files and no images among its own.
bool LooksLikeTensors(const Location& at);

// The shards: a file or URL, name-{00000..00004}.npy, or a folder's own files
// in the order of their names. Labels of a.npy are in a_labels.npy,
// a-labels.npy or a.labels.npy, and those of x-images-3.npy (or latents,
// waveforms, samples, data) in x-labels-3.npy.
absl::StatusOr<std::vector<TensorPaths>> FindTensorPaths(const Location& at);

}  // namespace gandem
