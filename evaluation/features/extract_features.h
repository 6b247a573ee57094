// SPDX-License-Identifier: Apache-2.0
//
// Fills FeatureStores, in one thread or in several. A slice is computed by one
// thread in batches of kChunkRows by index, so features are the same bits for
// any number of threads.
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

// Features of the first images of a set.
struct ExtractWork {
  const FeatureStore* store = nullptr;
  ImagesSpec images = {};
  int64_t num_images = 0;  // required, >= 1
  std::string side = {};   // whose images they are, for messages
};

struct ExtractOptions {
  std::string network = {};  // file of all work's network
  std::string network_sha256 = {};
  ExtractorOptions extractor = {};  // without a shape, which is the images'
  // Threads at most; each has images and network for itself.
  int workers = 1;
  // How many images there are features of, of all work; called now and then.
  std::function<void(int64_t num_images)> progress = {};
};

// One a core, if it has enough to do for its start to pay.
int DefaultWorkers(int64_t num_images);

// Returns when all slices are there; what is computed stays when it fails.
//   INVALID_ARGUMENT ...  images or network cannot be opened or used; an image
//                         makes NaN: names it, and the side.
//   FAILED_PRECONDITION   the network's file is another one meanwhile.
//   RESOURCE_EXHAUSTED    a full disk, or too little memory.
absl::Status ExtractFeatures(const std::vector<ExtractWork>& work,
                             const ExtractOptions& options);

}  // namespace gandem
