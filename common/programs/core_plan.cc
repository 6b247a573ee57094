// SPDX-License-Identifier: Apache-2.0
#include "common/programs/core_plan.h"

#include <hwloc.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/process/cores.h"

namespace gandem {
namespace {

// Reads the hardware threads below `object` that are in `left`, and removes
// them from `left`. A group with one part is replaced by the part.
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

// Free cores of a group.
struct Stock {
  std::vector<Stock> parts = {};
  std::vector<int> hardware_threads = {};  // of a unit for one worker
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

// Sorts parts for a choice, best first: parts with room for all before others;
// with room, the smallest, which keeps large parts free; without, the largest.
std::pair<bool, int> ChoiceOrder(const Stock& part, int count) {
  const bool has_room = part.free >= count;
  return {!has_room, has_room ? part.free : -part.free};
}

// `count` must not exceed stock.free.
void Take(Stock& stock, int count, std::vector<int>& taken) {
  stock.free -= count;
  if (stock.parts.empty()) {
    taken.insert(taken.end(), stock.hardware_threads.begin(),
                 stock.hardware_threads.end());
    return;
  }
  while (count > 0) {
    Stock& best = *std::ranges::min_element(
        stock.parts, {},
        [count](const Stock& part) { return ChoiceOrder(part, count); });
    const int some = std::min(count, best.free);
    Take(best, some, taken);
    count -= some;
  }
}

// Gives each worker `more` extra cores. Larger workers choose first.
WorkerCores TakeForAll(Stock stock, const std::map<WorkerKey, int>& threads,
                       int more) {
  std::vector<std::pair<WorkerKey, int>> order(threads.begin(), threads.end());
  std::ranges::stable_sort(order, std::greater<>(),
                           &std::pair<WorkerKey, int>::second);
  WorkerCores result;
  for (const auto& [worker, count] : order) {
    std::vector<int>& cores = result[worker];
    Take(stock, count + more, cores);
    std::ranges::sort(cores);
  }
  return result;
}

bool Contains(const CoreGroup& group, int thread) {
  return std::ranges::count(group.hardware_threads, thread) > 0 ||
         std::ranges::any_of(group.parts, [thread](const CoreGroup& part) {
           return Contains(part, thread);
         });
}

// Returns the number of parts of the machine that each worker occupies, summed
// over the workers. Single cores do not count as parts.
int64_t Spread(const CoreGroup& machine, const WorkerCores& plan) {
  int64_t spread = 0;
  for (const auto& item : plan) {
    spread += std::ranges::count_if(machine.parts, [&](const CoreGroup& part) {
      return !part.parts.empty() &&
             std::ranges::any_of(item.second, [&part](int thread) {
               return Contains(part, thread);
             });
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

absl::StatusOr<WorkerCores> PlanCores(const CoreGroup& machine,
                                      const std::map<WorkerKey, int>& threads) {
  int wanted = 0;
  for (const auto& [worker, count] : threads) wanted += count;
  Stock stock = StockOf(machine, /*whole_cores=*/true);
  if (stock.free < wanted) stock = StockOf(machine, /*whole_cores=*/false);
  if (threads.empty() || stock.free < wanted) {
    return absl::FailedPreconditionError(absl::StrCat(
        threads.size(), " workers have ", wanted, " compute threads, and ",
        stock.free, " cores are there for them"));
  }
  WorkerCores plan = TakeForAll(stock, threads, 0);
  const int64_t spread = Spread(machine, plan);
  for (int more = (stock.free - wanted) / static_cast<int>(threads.size());
       more > 0; --more) {
    WorkerCores wider = TakeForAll(stock, threads, more);
    if (Spread(machine, wider) <= spread) return wider;
  }
  return plan;
}

std::string ToString(const WorkerCores& cores) {
  return absl::StrJoin(cores, ", ", [](std::string* text, const auto& item) {
    absl::StrAppend(text, ToString(item.first), " on ", CoresText(item.second));
  });
}

}  // namespace gandem
