// SPDX-License-Identifier: Apache-2.0
//
// Networks whose first values are their own affair: those of users, in C++
// (own/) and in Python (families/network_host.h). registry/initialize.h leaves
// them to the network.
//
// Owner: none. Thread safety: the network's.
#pragma once

#include <cstdint>

namespace gandem {

class DrawsFirstValues {
 public:
  virtual ~DrawsFirstValues() = default;
  // A pure function of the network's config and `seed`.
  virtual void DrawFirstValues(uint64_t seed) = 0;
};

}  // namespace gandem
