// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "scaling_manager/planner/search/search_choice.h"

namespace gandem {
namespace {

struct HostRoom {
  const Host* host = nullptr;
  int cores = 0;
  int devices = 0;
};

double SpeedOf(const Host& host) { return host.speed() > 0 ? host.speed() : 1; }

bool HasGpus(const Host& host) { return host.device() == "cuda"; }

// Returns hosts by descending speed, equal hosts in the file's order.
std::vector<HostRoom> RoomsOf(const Machines& machines) {
  std::vector<HostRoom> rooms;
  for (const Host& host : machines.hosts()) {
    rooms.push_back({&host, host.cores(), host.devices()});
  }
  std::ranges::stable_sort(rooms, [](const HostRoom& a, const HostRoom& b) {
    return SpeedOf(*a.host) > SpeedOf(*b.host);
  });
  return rooms;
}

bool Take(int threads, HostRoom& room) {
  const bool has_gpus = HasGpus(*room.host);
  if (threads > room.cores || (has_gpus && room.devices == 0)) return false;
  room.cores -= threads;
  if (has_gpus) --room.devices;
  return true;
}

// Returns the roles of all workers in the order of placement.
std::vector<Role> OrderOf(const SearchChoice& choice) {
  const int generators = choice.generator.workers;
  const int discriminators = choice.discriminator.workers;
  const int all = generators + discriminators;
  std::vector<Role> roles;
  for (int i = 0; i < all; ++i) {
    // Keep the share of generators constant, rounded down.
    const bool is_generator =
        choice.spread == WorkerSpread::kGeneratorsFirst ? i < generators
        : choice.spread == WorkerSpread::kMixed
            ? (i + 1) * generators / all > i * generators / all
            : i >= discriminators;
    roles.push_back(is_generator ? GENERATOR : DISCRIMINATOR);
  }
  return roles;
}

// Progress of a role: hosts before `room` cannot take another of its workers.
struct RoleCursor {
  size_t room = 0;
  int rank = 0;
};

// Places a worker. Returns false if it fits nowhere.
bool PlaceOne(Role role, int threads, std::vector<HostRoom>& rooms,
              RoleCursor& cursor, Placement& placement) {
  while (cursor.room < rooms.size() && !Take(threads, rooms[cursor.room])) {
    ++cursor.room;
  }
  if (cursor.room == rooms.size()) return false;
  PlacedWorker& worker = *placement.add_workers();
  worker.set_role(role);
  worker.set_rank(cursor.rank++);
  worker.set_host(rooms[cursor.room].host->name());
  worker.set_threads(threads);
  return true;
}

}  // namespace

int NumDevices(const Machines& machines) {
  return std::accumulate(
      machines.hosts().begin(), machines.hosts().end(), 0,
      [](int sum, const Host& host) {
        return sum + (HasGpus(host) ? host.devices() : host.cores());
      });
}

int MostWorkers(const Machines& machines, int threads) {
  int workers = 0;
  for (const Host& host : machines.hosts()) {
    const int fit = host.cores() / std::max(1, threads);
    workers += HasGpus(host) ? std::min(fit, host.devices()) : fit;
  }
  return workers;
}

Placement PlaceWorkers(const Machines& machines, const SearchChoice& choice) {
  std::vector<HostRoom> rooms = RoomsOf(machines);
  Placement placement;
  RoleCursor generators;
  RoleCursor discriminators;
  if (choice.colocated) {
    PlaceOne(COLOCATED, choice.discriminator.threads, rooms, discriminators,
             placement);
    return placement;
  }
  for (const Role role : OrderOf(choice)) {
    const bool is_generator = role == GENERATOR;
    const RoleChoice& chosen =
        is_generator ? choice.generator : choice.discriminator;
    if (!PlaceOne(role, chosen.threads, rooms,
                  is_generator ? generators : discriminators, placement)) {
      return {};
    }
  }
  return placement;
}

}  // namespace gandem
