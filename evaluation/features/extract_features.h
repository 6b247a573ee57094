// SPDX-License-Identifier: Apache-2.0
//
// Fills FeatureStores, in this process or in several. A slice is computed by
// one thread in batches of kChunkRows by index, so features are the same bits
// for any number of workers.
//
// Owner: the caller. Thread safety: one compute thread, which lives as long as
// the workers may (common/process/child_process.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "evaluation/features/feature_store.h"

namespace gandem {

// Features of the first images of a store.
struct ExtractWork {
  const FeatureStore* store = nullptr;
  int64_t num_images = 0;  // required, >= 1
};

struct WorkerShare {
  int index = 0;  // of the worker
  int size = 1;
};

struct ExtractOptions {
  // Above 1: that many child processes at most; each is pinned to one of this
  // process's cores where there are enough.
  int workers = 1;
  // How many images there are features of, of all work; called now and then.
  std::function<void(int64_t num_images)> progress = {};
};

// One a core, if it has enough to do for its start to pay.
int DefaultWorkers(int64_t num_images);

// Returns when all slices are there. A worker that is killed is started again;
// one that fails ends the others.
//   the worker's error  the source or the network cannot be opened or used;
//                       an image makes NaN: names it, and the job's side.
//   RESOURCE_EXHAUSTED  a full disk, or too little memory; what is computed
//                       stays, and nothing else.
//   ABORTED             workers were killed again and again, or stood still;
//                       what they computed stays.
absl::Status ExtractFeatures(const std::vector<ExtractWork>& work,
                             const ExtractOptions& options);

// In this process: the slices of `share` that are not there. Shares of one size
// have all slices between them, evenly, though the last ones may be smaller.
absl::Status ExtractShare(const std::vector<ExtractWork>& work,
                          WorkerShare share,
                          const std::function<void(IndexRange)>& done = {});

}  // namespace gandem
