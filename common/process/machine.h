// SPDX-License-Identifier: Apache-2.0
//
// Facts about this machine that determine how fast it computes, and the memory
// of the machine and its processes. Measurements hold for machines with equal
// facts.
//
// Thread safety: any thread. Errors: none; facts that the system does not
// report are left out, or 0.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace gandem {

// Lines: the processor's name, the vector instructions that it has, and, if
// asked for, the GPUs' names.
std::set<std::string> MachineKind(bool with_gpus);

// For people: "Intel(R) Xeon(R) ... , NVIDIA H100". GPUs as often as there are.
std::string MachineName();

struct MemoryUse {
  int64_t now_bytes = 0;   // resident
  int64_t peak_bytes = 0;  // the most that it ever was
};

// 0: this process.
MemoryUse ResidentMemory(pid_t process = 0);

// Memory of the machine, in bytes, or of this process's control group if that
// has less.
int64_t TotalMemory();
// Free memory in bytes, including the kernel's file cache.
int64_t FreeMemory();

// Processors whose time a control group of either version and those above it
// grant, by `groups` (the text of /proc/self/cgroup) and the files below `root`
// ("/sys/fs/cgroup"); infinity: no quota.
double QuotaCores(absl::string_view groups, const std::string& root);

// Cores that this process can keep busy: those that it may run on
// (AllowedCores) or, if that is less, its quota, rounded up. At least 1.
int UsableCores();

}  // namespace gandem
