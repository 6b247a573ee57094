// SPDX-License-Identifier: Apache-2.0
//
// Interfaces of networks without gandem's layers: user networks in C++ (own/)
// and Python (families/network_host.h). A network derives from those that
// apply.
//
// Owner: none. Thread safety, errors: the network's.
#pragma once

#include <cstdint>
#include <string>

namespace gandem {

// A network that draws its own initial values instead of registry/initialize.h.
class DrawsFirstValues {
 public:
  virtual ~DrawsFirstValues() = default;
  // Must depend only on the network's config and `seed`.
  virtual void DrawFirstValues(uint64_t seed) = 0;
};

// A discriminator whose layers do not support per-image weights
// (layers/parameter_weights.h).
class HasForeignLayers {
 public:
  virtual ~HasForeignLayers() = default;
  // Returns a clause that says why schedule.fused_backward ONE_PASS is not
  // exact; empty if each image has one logit that depends on no other image.
  virtual std::string WhyTwoPasses() const = 0;
};

// A network with its own batch norm instead of layers/batch_norm.h, in which it
// collects standing statistics.
class GathersStatistics {
 public:
  virtual ~GathersStatistics() = default;
  // Resets batch norm's statistics. Afterwards running statistics are the mean
  // over the batches of kTrain passes, with equal weights. Returns false and
  // changes nothing if no layer has running statistics.
  virtual bool GatherStatisticsAfresh() = 0;
};

}  // namespace gandem
