// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/machines.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/field_ranges.h"
#include "common/config/locate_faults.h"
#include "common/config/role_device.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/quantities.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "scaling_manager/planner/search/search_choice.h"

namespace gandem {
namespace {

constexpr int kMostHosts = 4096;
constexpr int64_t kMostDevices = 65536;
// Share of a machine's memory for workers; the system needs the rest.
constexpr double kUsableMemory = 0.9;

void CheckHost(const std::string& path, Host& host, Faults& faults) {
  if (host.device().empty()) host.set_device("cpu");
  if (host.speed() == 0) host.set_speed(1);
  if (host.name().empty()) faults.Add(absl::StrCat(path, ".name is missing"));
  if (host.cores() == 0) {
    faults.Add(absl::StrCat(path, " (", host.name(),
                            ") has no cores: set cores to their number"));
  }
  if (host.device() != "cpu" && host.device() != "cuda") {
    faults.Add(absl::StrCat(path, ".device '", host.device(),
                            "' is neither cpu nor cuda"));
  } else if (host.device() == "cuda" && host.devices() == 0) {
    faults.Add(absl::StrCat(path, " (", host.name(),
                            ") has no GPUs: set devices to their number"));
  } else if (host.device() == "cpu" && host.devices() != 0) {
    faults.Add(absl::StrCat(path, ".devices ", host.devices(),
                            " are GPUs: set device to \"cuda\", or leave ",
                            "devices out (for a CPU, set cores)"));
  }
}

Faults CheckMachines(Machines& machines) {
  Faults faults("machines");
  if (machines.hosts_size() == 0) {
    faults.Add(
        "no hosts: name one at least, as in hosts { name: \"alpha\" cores: 8 "
        "}");
  }
  CheckRanges("", machines, faults);
  std::set<std::string> names;
  for (int i = 0; i < machines.hosts_size(); ++i) {
    Host& host = *machines.mutable_hosts(i);
    CheckHost(absl::StrCat("hosts[", i, "]"), host, faults);
    if (!names.insert(host.name()).second && !host.name().empty()) {
      faults.Add(absl::StrCat("hosts[", i, "].name '", host.name(),
                              "' is there twice: each host once, with all its "
                              "cores and devices"));
    }
  }
  if (machines.link().bytes_per_second() == 0 &&
      (machines.has_link() || machines.hosts_size() > 1)) {
    faults.Add(
        "link is missing, or has no speed: say how fast the hosts are "
        "connected, as in link { bytes_per_second: 3.1e9 }, or with --link "
        "25Gbit");
  }
  return faults;
}

bool WantsGpus(const RunConfig& recipe) {
  return IsOnGpu(recipe.discriminator());
}

// Returns the memory of the profiled GPU in bytes, or 0 if it is unknown.
int64_t DeviceMemoryOf(const Profile& profile) {
  int64_t bytes = 0;
  for (const Probe& probe : profile.probes()) {
    bytes = std::max(bytes, probe.device_memory().total_bytes());
  }
  return bytes;
}

int64_t UsablePart(int64_t bytes) {
  return static_cast<int64_t>(kUsableMemory * static_cast<double>(bytes));
}

Host ProfiledHost(const RunConfig& recipe, const Profile& profile) {
  const ProfileFingerprint& profiled = profile.fingerprint();
  Host host;
  host.set_name("this machine");
  host.set_cores(std::max(profiled.cores(), 1));
  host.set_memory_bytes(UsablePart(profiled.memory_bytes()));
  host.set_device(WantsGpus(recipe) ? "cuda" : "cpu");
  if (WantsGpus(recipe)) {
    host.set_device_memory_bytes(UsablePart(DeviceMemoryOf(profile)));
  }
  host.set_speed(1);
  return host;
}

absl::StatusOr<Machines> MachinesLikeProfiled(const MachineOptions& options,
                                              const RunConfig& recipe,
                                              const Profile& profile) {
  Machines machines;
  Host host = ProfiledHost(recipe, profile);
  if (!options.link.empty()) {
    GANDEM_ASSIGN_OR_RETURN(*machines.mutable_link(),
                            ParseLink("--link", options.link));
    if (WantsGpus(recipe)) host.set_devices(1);
    const int64_t hosts = std::max<int64_t>(options.devices, 1);
    if (hosts > kMostHosts) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--devices ", hosts,
          " with --link means as many hosts: give at most ", kMostHosts));
    }
    for (int64_t i = 0; i < hosts; ++i) {
      host.set_name(absl::StrCat("host", i));
      *machines.add_hosts() = host;
    }
    return machines;
  }
  // The profile does not record the number of GPUs.
  if (WantsGpus(recipe)) {
    host.set_devices(
        static_cast<int>(std::clamp<int64_t>(options.devices, 1, 1024)));
  }
  *machines.add_hosts() = host;
  return machines;
}

absl::StatusOr<Machines> MachinesOfFile(const MachineOptions& options,
                                        const RunConfig& recipe) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(options.hosts, kMaxTextProtoBytes));
  GANDEM_ASSIGN_OR_RETURN(Machines machines,
                          ParseMachines(text, options.hosts, options.link));
  for (const Host& host : machines.hosts()) {
    if ((host.device() == "cuda") == WantsGpus(recipe)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        options.hosts, ": host '", host.name(), "' has device ", host.device(),
        ", and the recipe's discriminator.device is ",
        recipe.discriminator().device(), ": leave the host out, or plan with ",
        "--set generator.device=", host.device(),
        " --set discriminator.device=", host.device()));
  }
  return machines;
}

absl::Status TooManyDevices(const MachineOptions& options,
                            const Machines& machines) {
  const int there_are = NumDevices(machines);
  const char* const what =
      machines.hosts(0).device() == "cuda" ? "GPUs" : "cores";
  return absl::InvalidArgumentError(absl::StrCat(
      "--devices ", options.devices, " are more than the ", there_are, " ",
      what, " of ",
      options.hosts.empty() ? "the profiled machine"
                            : absl::StrCat("the hosts in ", options.hosts),
      ": give --devices ", there_are, " at most",
      options.hosts.empty()
          ? ", or describe the machines (--hosts FILE, or --link SPEED for "
            "several machines like this one)"
          : ""));
}

// Removes devices from the last hosts until `devices` are left.
void Shrink(int64_t devices, Machines& machines) {
  int64_t surplus = NumDevices(machines) - devices;
  while (surplus > 0) {
    Host& host = *machines.mutable_hosts(machines.hosts_size() - 1);
    const bool has_gpus = host.device() == "cuda";
    const int count = has_gpus ? host.devices() : host.cores();
    if (count <= surplus) {
      surplus -= count;
      machines.mutable_hosts()->RemoveLast();
      continue;
    }
    const int left = static_cast<int>(count - surplus);
    has_gpus ? host.set_devices(left) : host.set_cores(left);
    return;
  }
}

}  // namespace

absl::StatusOr<Machines> ParseMachines(absl::string_view text,
                                       absl::string_view file,
                                       const std::string& link) {
  Machines machines;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, file, machines));
  std::vector<std::string> sets;
  if (!link.empty()) {
    GANDEM_ASSIGN_OR_RETURN(*machines.mutable_link(),
                            ParseLink("--link", link));
    sets.push_back("link");
  }
  GANDEM_RETURN_IF_ERROR(
      LocateFaults(CheckMachines(machines), text, file, sets, machines));
  return machines;
}

absl::StatusOr<Machines> MachinesFor(const MachineOptions& options,
                                     const RunConfig& recipe,
                                     const Profile& profile) {
  if (options.devices < 0 || options.devices > kMostDevices) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--devices ", options.devices, " is not in [1, ", kMostDevices, "]"));
  }
  absl::StatusOr<Machines> machines =
      options.hosts.empty() ? MachinesLikeProfiled(options, recipe, profile)
                            : MachinesOfFile(options, recipe);
  GANDEM_RETURN_IF_ERROR(machines);
  // With a link and without a file, each device is a host.
  if (options.devices > 0 && (!options.hosts.empty() || options.link.empty())) {
    if (options.devices > NumDevices(*machines)) {
      return TooManyDevices(options, *machines);
    }
    Shrink(options.devices, *machines);
  }
  if (options.memory.empty()) return machines;
  GANDEM_ASSIGN_OR_RETURN(const int64_t bytes,
                          ParseBytes("--memory", options.memory));
  for (Host& host : *machines->mutable_hosts()) {
    host.device() == "cuda" ? host.set_device_memory_bytes(bytes)
                            : host.set_memory_bytes(bytes);
  }
  return machines;
}

}  // namespace gandem
