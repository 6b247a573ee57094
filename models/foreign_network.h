// SPDX-License-Identifier: Apache-2.0
//
// What networks that are not made of our layers say of themselves: those of
// users, in C++ (own/) and in Python (families/network_host.h). A network says
// it by deriving from these.
//
// Owner: none. Thread safety, errors: the network's.
#pragma once

#include <cstdint>
#include <string>

namespace gandem {

// First values are the network's own affair: registry/initialize.h leaves them
// to it.
class DrawsFirstValues {
 public:
  virtual ~DrawsFirstValues() = default;
  // A pure function of the network's config and `seed`.
  virtual void DrawFirstValues(uint64_t seed) = 0;
};

// A discriminator whose layers do not weigh images apart
// (layers/parameter_weights.h).
class HasForeignLayers {
 public:
  virtual ~HasForeignLayers() = default;
  // Why schedule.fused_backward ONE_PASS is not exact, a clause; empty if each
  // image has one logit, on which no other image has a say.
  virtual std::string WhyTwoPasses() const = 0;
};

// Batch norm is not ours (layers/batch_norm.h). Standing statistics are
// gathered in it.
class GathersStatistics {
 public:
  virtual ~GathersStatistics() = default;
  // Batch norm has seen no batch. From now on its running statistics are the
  // mean over the batches of passes in kTrain, each of the same weight.
  // False: no layer has running statistics, and nothing has changed.
  virtual bool GatherStatisticsAfresh() = 0;
};

}  // namespace gandem
