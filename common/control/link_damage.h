// SPDX-License-Identifier: Apache-2.0
//
// Messages that arrived damaged, by link, of all workers and run epochs. A
// worker tells how many it has counted since it registered; names of links are
// made here, from ranks.
//
// Owner: the coordinator. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/config/worker_key.h"
#include "proto/control.pb.h"

namespace gandem {

// The rank of the worker at this position of its fleet, if there is one.
using RankAt = absl::FunctionRef<std::optional<int>(Role role, int position)>;

// "exchange generator 1 -> discriminator 0", "ring of the discriminators 1 ->
// 0", "control gandem -> generator 1". Empty: the run has no such link.
std::string LinkName(const LinkDamage& damage, WorkerKey worker,
                     RankAt rank_at);

class LinkDamageTotals {
 public:
  // What `worker` tells, as the process with this incarnation. Returns what the
  // operator should read: of each link its first damage, then each doubling.
  std::vector<std::string> Note(WorkerKey worker, int64_t incarnation,
                                const HeartbeatRequest& request,
                                RankAt rank_at);

  // By the names of links; as many as the run has at most.
  const std::map<std::string, int64_t>& totals() const { return totals_; }

 private:
  struct Told {
    int64_t incarnation = 0;
    std::map<std::string, int64_t> messages = {};
  };

  std::map<WorkerKey, Told> told_;
  std::map<std::string, int64_t> totals_;
};

}  // namespace gandem
