// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/launch/core_plan.h"

#include <hwloc.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/process/cores.h"
#include "common/status.h"

namespace gandem {
namespace {

// Hardware threads below `object`, without those that are not `left`, from
// which they are taken. Groups of one part are that part.
CoreGroup Read(hwloc_obj_t object, std::set<int>& left) {
  CoreGroup group;
  if (object->type == HWLOC_OBJ_PU) {
    const int number = static_cast<int>(object->os_index);
    if (left.erase(number) > 0) group.hardware_threads = {number};
    return group;
  }
  for (unsigned i = 0; i < object->arity; ++i) {
    CoreGroup part = Read(object->children[i], left);
    if (object->type == HWLOC_OBJ_CORE) {
      group.hardware_threads.insert(group.hardware_threads.end(),
                                    part.hardware_threads.begin(),
                                    part.hardware_threads.end());
    } else if (!part.parts.empty() || !part.hardware_threads.empty()) {
      group.parts.push_back(std::move(part));
    }
  }
  if (group.parts.size() == 1) return CoreGroup(group.parts.front());
  return group;
}

CoreGroup ReadTopology(const std::string& description, std::set<int>& left) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return {};
  const absl::Cleanup destroy = [topology] {
    hwloc_topology_destroy(topology);
  };
  if (!description.empty() &&
      hwloc_topology_set_synthetic(topology, description.c_str()) != 0) {
    return {};
  }
  if (hwloc_topology_load(topology) != 0) return {};
  return Read(hwloc_get_root_obj(topology), left);
}

// What of a group is not given away yet.
struct Stock {
  std::vector<Stock> parts = {};
  std::vector<int> hardware_threads = {};  // of one that goes to one worker
  int free = 0;
};

Stock StockOf(const CoreGroup& group, bool whole_cores) {
  if (!group.hardware_threads.empty() && whole_cores) {
    return {.hardware_threads = group.hardware_threads, .free = 1};
  }
  Stock stock;
  for (const int thread : group.hardware_threads) {
    stock.parts.push_back({.hardware_threads = {thread}, .free = 1});
  }
  for (const CoreGroup& part : group.parts) {
    stock.parts.push_back(StockOf(part, whole_cores));
  }
  for (const Stock& part : stock.parts) stock.free += part.free;
  return stock;
}

// A part with room for all is better than one without. Of those with room the
// smallest stays most useful for others, of those without the largest.
bool IsBetter(const Stock& a, const Stock& b, int count) {
  const bool a_has_room = a.free >= count;
  const bool b_has_room = b.free >= count;
  if (a_has_room != b_has_room) return a_has_room;
  return a_has_room ? a.free < b.free : a.free > b.free;
}

// At most stock.free.
void Take(Stock& stock, int count, std::vector<int>& taken) {
  stock.free -= count;
  if (stock.parts.empty()) {
    taken.insert(taken.end(), stock.hardware_threads.begin(),
                 stock.hardware_threads.end());
    return;
  }
  while (count > 0) {
    Stock* best = nullptr;
    for (Stock& part : stock.parts) {
      if (part.free == 0) continue;
      if (best == nullptr || IsBetter(part, *best, count)) best = &part;
    }
    const int some = std::min(count, best->free);
    Take(*best, some, taken);
    count -= some;
  }
}

std::vector<std::vector<int>> TakeForAll(Stock stock,
                                         std::span<const int> counts) {
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [counts](size_t a, size_t b) { return counts[a] > counts[b]; });
  std::vector<std::vector<int>> result(counts.size());
  for (const size_t worker : order) {
    Take(stock, counts[worker], result[worker]);
    std::ranges::sort(result[worker]);
  }
  return result;
}

bool Contains(const CoreGroup& group, int thread) {
  return std::ranges::count(group.hardware_threads, thread) > 0 ||
         std::ranges::any_of(group.parts, [thread](const CoreGroup& part) {
           return Contains(part, thread);
         });
}

// In how many parts of the machine, single cores left out, workers are; summed
// over the workers.
int64_t Spread(const CoreGroup& machine,
               const std::vector<std::vector<int>>& plan) {
  int64_t spread = 0;
  for (const std::vector<int>& cores : plan) {
    spread += std::ranges::count_if(machine.parts, [&](const CoreGroup& part) {
      return !part.parts.empty() &&
             std::ranges::any_of(
                 cores, [&part](int thread) { return Contains(part, thread); });
    });
  }
  return spread;
}

}  // namespace

CoreGroup ReadMachine(std::span<const int> allowed,
                      const std::string& description) {
  std::set<int> left(allowed.begin(), allowed.end());
  CoreGroup machine = ReadTopology(description, left);
  if (left.empty()) return machine;
  CoreGroup all;
  if (!machine.parts.empty() || !machine.hardware_threads.empty()) {
    all.parts.push_back(std::move(machine));
  }
  for (const int thread : left) {
    all.parts.push_back({.hardware_threads = {thread}});
  }
  return all;
}

absl::StatusOr<std::vector<std::vector<int>>> PlanCores(
    const CoreGroup& machine, std::span<const int> threads) {
  const int wanted = std::accumulate(threads.begin(), threads.end(), 0);
  Stock stock = StockOf(machine, /*whole_cores=*/true);
  if (stock.free < wanted) stock = StockOf(machine, /*whole_cores=*/false);
  if (threads.empty() || stock.free < wanted) {
    return absl::FailedPreconditionError(absl::StrCat(
        threads.size(), " workers have ", wanted, " compute threads, and ",
        stock.free, " cores are there for them"));
  }
  std::vector<std::vector<int>> plan = TakeForAll(stock, threads);
  const int64_t spread = Spread(machine, plan);
  for (int more = (stock.free - wanted) / static_cast<int>(threads.size());
       more > 0; --more) {
    std::vector<int> counts(threads.begin(), threads.end());
    for (int& count : counts) count += more;
    std::vector<std::vector<int>> wider = TakeForAll(stock, counts);
    if (Spread(machine, wider) <= spread) return wider;
  }
  return plan;
}

absl::StatusOr<WorkerCores> PlanWorkerCores(
    const CoreGroup& machine, const RunConfig& config,
    std::span<const WorkerKey> workers) {
  std::vector<int> threads;
  for (const WorkerKey& worker : workers) {
    threads.push_back(worker.role == GENERATOR
                          ? config.generator().threads()
                          : config.discriminator().threads());
  }
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::vector<int>> plan,
                          PlanCores(machine, threads));
  WorkerCores result;
  for (size_t i = 0; i < workers.size(); ++i) {
    result[workers[i]] = std::move(plan[i]);
  }
  return result;
}

std::string ToString(const WorkerCores& cores) {
  std::string text;
  for (const auto& [worker, its] : cores) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", ToString(worker), " on ",
                    CoresText(its));
  }
  return text;
}

}  // namespace gandem
