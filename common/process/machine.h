// SPDX-License-Identifier: Apache-2.0
//
// What kind of machine this is, as far as it decides how fast something is
// computed, and what memory it and its processes have: what was measured on one
// kind holds for another one of it.
//
// Thread safety: any thread. Errors: none; what the system does not tell is
// left out, or 0.
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

// Of the machine, or of the control group that this process is in, where that
// may have less.
int64_t TotalMemory();
// Of it, what nobody uses, or only the kernel for files that it can read again.
int64_t FreeMemory();

// Processors whose time a control group of either version and those above it
// grant, by `groups` (the text of /proc/self/cgroup) and the files below `root`
// ("/sys/fs/cgroup"); infinity: no quota.
double QuotaCores(absl::string_view groups, const std::string& root);

// Cores that this process can keep busy: those that it may run on
// (AllowedCores) or, if that is less, its quota, rounded up. At least 1.
int UsableCores();

}  // namespace gandem
