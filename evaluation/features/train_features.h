// SPDX-License-Identifier: Apache-2.0
//
// `gandem train-features`: trains a classifier (classifier.h) on a labeled
// dataset and keeps it in a cache, so that equal requests get the same file,
// and with it the same features.
//
//   Adam, batches of 128, cross-entropy, a learning rate that rises for a tenth
//   of the steps and falls to 0 along a cosine; order and initial values are
//   keyed draws. For a given number of threads, the result is a pure function
//   of the request and the images.
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Status only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "pipeline/sources/named_dataset.h"

namespace gandem {

struct TrainFeaturesRequest {
  // Without test images, every tenth image is held out.
  NamedDataset dataset;
  std::string cache_dir = {};  // empty: DefaultFeatureCache()
  int64_t epochs = 5;          // 1 to 1000
  uint64_t seed = 1;
  int threads = 1;  // 1 to 1024
  // Called regularly with a line for the user.
  std::function<void(const std::string&)> progress = {};
};

struct TrainFeaturesReport {
  std::string path;     // for OpenFeatureExtractor
  std::string name;     // name of the network
  bool cached = false;  // found in the cache, so nothing was trained
  double test_accuracy = 0;
  int64_t num_test_images = 0;
  absl::Duration elapsed;
};

// "$XDG_CACHE_HOME/gandem/features", or the same in ~/.cache.
std::string DefaultFeatureCache();

//   INVALID_ARGUMENT    lists every option that is out of range; images
//                       without labels, of one class only, too small or with
//                       more than 3 channels.
//   RESOURCE_EXHAUSTED  the images do not fit into 4 GiB.
//   and those of OpenDataset, of reading images and of writing files.
absl::StatusOr<TrainFeaturesReport> TrainFeatures(
    const TrainFeaturesRequest& request);

}  // namespace gandem
