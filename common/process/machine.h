// SPDX-License-Identifier: Apache-2.0
//
// Properties of this machine that determine its speed, and memory use.
// Measurements are comparable between machines with equal properties.
//
// Thread safety: any thread. Errors: none; unknown properties are omitted or 0.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace gandem {

// Returns the processor, its vector instructions and optionally the GPUs.
std::set<std::string> MachineKind(bool with_gpus);

// Returns text such as "Intel(R) Xeon(R) ... , NVIDIA H100", with each GPU.
std::string MachineName();

struct MemoryUse {
  int64_t now_bytes = 0;   // resident
  int64_t peak_bytes = 0;  // maximum so far
};

// Measures `process`; 0 is this process.
MemoryUse ResidentMemory(pid_t process = 0);

// Returns the bytes of memory, limited by this process's control group.
int64_t TotalMemory();
// Returns free bytes, including the kernel's file cache.
int64_t FreeMemory();

// Returns the CPU quota of a control group (version 1 or 2) and its parents, in
// processors, or infinity without a quota. `groups` is the text of
// /proc/self/cgroup; `root` is normally "/sys/fs/cgroup".
double QuotaCores(absl::string_view groups, const std::string& root);

// Returns how many cores this process can keep busy: AllowedCores, limited by
// the quota (rounded up). At least 1.
int UsableCores();

}  // namespace gandem
