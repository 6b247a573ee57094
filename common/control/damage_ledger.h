// SPDX-License-Identifier: Apache-2.0
//
// How many messages of each link of a worker have arrived damaged: what its
// heartbeats tell the coordinator.
//
// Owner: shared by a worker's main and by the ends of its links. Thread safety:
// any thread.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "proto/control.pb.h"

namespace gandem {

class DamageLedger {
 public:
  // `peer`: position of the other end in its fleet.
  void Note(LinkDamage::Link link, int peer, bool is_outgoing)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Of a new run epoch, whose positions may be others.
  void Clear() ABSL_LOCKS_EXCLUDED(mu_);

  bool empty() const ABSL_LOCKS_EXCLUDED(mu_);
  // At most kMaxDamagedLinks of them.
  std::vector<LinkDamage> links() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::tuple<LinkDamage::Link, int, bool>;

  mutable absl::Mutex mu_;
  std::map<Key, int64_t> messages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
