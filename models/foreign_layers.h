// SPDX-License-Identifier: Apache-2.0
//
// Discriminators whose layers are not ours (layers/parameter_weights.h), as
// those of users in Python (families/network_host.h).
//
// Owner: none. Thread safety, errors: the network's.
#pragma once

#include <string>

namespace gandem {

class HasForeignLayers {
 public:
  virtual ~HasForeignLayers() = default;
  // Why schedule.fused_backward ONE_PASS is not exact, a clause; empty if each
  // image has one logit, on which no other image has a say.
  virtual std::string WhyTwoPasses() const = 0;
};

}  // namespace gandem
