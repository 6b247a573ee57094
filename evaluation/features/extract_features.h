// SPDX-License-Identifier: Apache-2.0
//
// Fills FeatureStores with one or several threads. One thread computes a slice,
// in batches of kChunkRows by index, so features have the same bits for any
// number of threads.
//
// Owner: the caller. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "evaluation/features/feature_store.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// A request for the features of the first `num_images` of a set.
struct ExtractWork {
  const FeatureStore* store = nullptr;
  ImagesSpec images = {};
  int64_t num_images = 0;  // required, >= 1
  std::string side = {};   // name of the side in messages
};

struct ExtractOptions {
  std::string network = {};  // file
  std::string network_sha256 = {};
  ExtractorOptions extractor = {};  // without image_shape
  // Maximum number of threads. Each opens the images and the network itself.
  int workers = 1;
  // Called regularly with the number of images that have features.
  std::function<void(int64_t num_images)> progress = {};
};

// One worker per core, as far as there is enough work for each.
int DefaultWorkers(int64_t num_images);

// Returns when all slices are stored. A failure keeps the finished slices.
//   INVALID_ARGUMENT ...  images or network cannot be opened or used; an image
//                         makes NaN: names it, and the side.
//   FAILED_PRECONDITION   the network's file has changed.
//   RESOURCE_EXHAUSTED    a full disk, or too little memory.
absl::Status ExtractFeatures(const std::vector<ExtractWork>& work,
                             const ExtractOptions& options);

}  // namespace gandem
