// SPDX-License-Identifier: Apache-2.0
//
// Interfaces of networks that are not made of gandem's layers: networks of
// users, in C++ (own/) and in Python (families/network_host.h). A network
// derives from the interfaces that apply to it.
//
// Owner: none. Thread safety, errors: the network's.
#pragma once

#include <cstdint>
#include <string>

namespace gandem {

// A network that draws its own first values: registry/initialize.h leaves them
// to the network.
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
  // image has one logit, which depends on no other image.
  virtual std::string WhyTwoPasses() const = 0;
};

// A network whose batch norm is not gandem's (layers/batch_norm.h). The network
// gathers standing statistics in its own batch norm.
class GathersStatistics {
 public:
  virtual ~GathersStatistics() = default;
  // Makes batch norm forget all batches. From then on its running statistics
  // are the mean over the batches of passes in kTrain, each of the same weight.
  // Returns false, and changes nothing, if no layer has running statistics.
  virtual bool GatherStatisticsAfresh() = 0;
};

}  // namespace gandem
